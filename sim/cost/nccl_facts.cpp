#include "sim/cost/nccl_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/collectives/link_slots.hpp"
#include "sim/core/cluster.hpp"
#include "sim/cost/nccl_staging.hpp"

namespace gradwire {
namespace {

/// What is asked of a type of machine, found once for each.
struct NodeFacts {
  int capability_min = 0;
  int capability_max = 0;
  BytesPerSecond memory_bandwidth;
};

NodeFacts examine(const NodeGraph& node, const NcclGpus& gpus) {
  const DeviceGraph& graph = node.graph();
  NodeFacts facts;
  for (const DeviceId id : node.gpus()) {
    const auto known = gpus.find(graph[id].model);
    const NcclGpu gpu = known == gpus.end() ? NcclGpu{} : known->second;
    const bool is_first = id == node.gpus().front();
    facts.capability_min =
        is_first ? gpu.capability : std::min(facts.capability_min, gpu.capability);
    facts.capability_max = std::max(facts.capability_max, gpu.capability);
    facts.memory_bandwidth =
        is_first ? gpu.memory_bandwidth : std::min(facts.memory_bandwidth, gpu.memory_bandwidth);
  }
  return facts;
}

void join(NcclFacts& facts, const NodeFacts& node, bool is_first) {
  facts.capability_min =
      is_first ? node.capability_min : std::min(facts.capability_min, node.capability_min);
  facts.capability_max = std::max(facts.capability_max, node.capability_max);
  facts.memory_bandwidth =
      is_first ? node.memory_bandwidth : std::min(facts.memory_bandwidth, node.memory_bandwidth);
}

/// The longest of any port.
Seconds longest(const Fabric& fabric, Seconds PortSpec::*time) {
  Seconds most;
  for (const PortSpec& spec : fabric.port_specs()) most = std::max(most, spec.*time);
  return most;
}

/// The least of the ports with that rendezvous.
Bytes eager_at_slowest(const Fabric& fabric, Seconds rendezvous) {
  Bytes least{std::numeric_limits<std::int64_t>::max()};
  for (const PortSpec& spec : fabric.port_specs()) {
    if (spec.rendezvous == rendezvous) least = std::min(least, spec.eager);
  }
  return least;
}

bool is_efa(const Fabric& fabric) {
  return std::ranges::any_of(fabric.port_specs(),
                             [](const PortSpec& spec) { return spec.kind == "efa"; });
}

/// Bytes / size by a link's number.
struct Loads {
  LinkSlots slots;
  std::vector<double> all;
  std::vector<double> of_stores;  ///< of them by GPUs into each other's memory over PCIe; or empty

  /// REQUIRES: as LinkSlots.
  [[nodiscard]] double of(LinkId link) const { return all[slots[link]]; }
};

/// @param first  each port has two links from there on, the way out before the way in.
int sending_ports(const Fabric& fabric, const Loads& load, LinkId first) {
  int sending = 0;
  for (int port = 0; port < fabric.port_count(); ++port) {
    if (load.of(first + 2 * port) > 0) ++sending;
  }
  return sending;
}

/// @param first  each port has two links from there on.
void see_sockets(const Cluster& cluster, const Loads& load, LinkId first, NcclFacts& facts) {
  const Fabric& fabric = cluster.fabric();
  for (int port = 0; port < fabric.port_count(); ++port) {
    const bool is_socket = fabric.port_spec(port).kind == "tcp";
    for (LinkId id = first + 2 * port; id < first + 2 * port + 2; ++id) {
      const ClusterLink& link = cluster.links()[static_cast<std::size_t>(id)];
      facts.port_connection_per_byte =
          std::max(facts.port_connection_per_byte, Seconds{load.of(id) / link.connection_capacity});
      if (is_socket) facts.socket_share = std::max(facts.socket_share, load.of(id));
    }
  }
}

/// Fetches the load and the type of a place's link on a way, if there is one. Always inlined: to
/// g++ 12 a call of it has no effect, and is taken out.
[[gnu::always_inline]] inline void ask_for(const Loads& loads, ClusterLinks links,
                                           const Pattern& pattern, std::size_t place) {
  if (place >= pattern.path_links.size()) return;
  const LinkId id = pattern.path_links[place];
  __builtin_prefetch(&loads.all[loads.slots[id]]);
  links.fetch(static_cast<std::size_t>(id));
}

/// Adds a flow between GPUs of a machine, where they reach each other's memory.
void add_stores(const Pattern& pattern, const PatternFlow& flow, const HostPlaces& places,
                Loads& loads) {
  const auto path = std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size);
  const auto place = [&](LinkId id) { return places[id]; };
  if (std::ranges::any_of(path, &HostPlace::ends_peers, place)) return;
  loads.of_stores.resize(loads.slots.size());
  for (const LinkId id : path) loads.of_stores[loads.slots[id]] += flow.share;
}

/// Adds what a link's connections carry of a flow.
/// @return seconds a byte, where one thread carries all.
Seconds add_connections(const ClusterLink& link, double share, NcclFacts& facts) {
  if (!std::isfinite(link.connection_capacity)) return {};
  const Seconds connected{share / (link.connections * link.connection_capacity)};
  facts.connected_per_byte = std::max(facts.connected_per_byte, connected);
  facts.lone_connection_per_byte =
      std::max(facts.lone_connection_per_byte, link.connections * connected);
  return link.connections == 1 ? connected : Seconds{};
}

/// The links' loads, and what one flow sees of its way.
Loads loads(const Cluster& cluster, const Pattern& pattern, const HostPlaces& places,
            NcclFacts& facts) {
  Loads result{.slots = LinkSlots(pattern, cluster.links().size()), .all = {}, .of_stores = {}};
  result.all.resize(result.slots.size());
  std::vector<Seconds> proxy(static_cast<std::size_t>(pattern.ranks));
  std::vector<double> sent(static_cast<std::size_t>(pattern.ranks));
  std::vector<double> received(static_cast<std::size_t>(pattern.ranks));
  // Links are met in no order, and wait for memory unless asked for so many before.
  constexpr std::size_t ahead = 32;
  const ClusterLinks links = cluster.links();
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      Seconds network;
      bool is_local = true;
      bool is_nvlink = true;
      Seconds by_proxy;
      for (std::uint32_t i = 0; i < flow.path_size; ++i) {
        ask_for(result, links, pattern, flow.path_begin + i + ahead);
        const LinkId id = pattern.path_links[flow.path_begin + i];
        const ClusterLink& link = links[static_cast<std::size_t>(id)];
        result.all[result.slots[id]] += flow.share;
        by_proxy = std::max(by_proxy, add_connections(link, flow.share, facts));
        if (link.kind == LinkKind::network) {
          network += Seconds{link.latency};
          is_local = false;
        }
        is_nvlink = is_nvlink && link.kind == LinkKind::nvlink;
      }
      facts.network_latency = std::max(facts.network_latency, network);
      if (!is_local) {
        sent[static_cast<std::size_t>(flow.source)] += flow.share;
        received[static_cast<std::size_t>(flow.destination)] += flow.share;
      }
      if (is_local && !is_nvlink) {
        facts.local = hop_pcie;
        add_stores(pattern, flow, places, result);
      }
      proxy[static_cast<std::size_t>(flow.source)] += by_proxy;
      proxy[static_cast<std::size_t>(flow.destination)] += by_proxy;
    }
  }
  if (!proxy.empty()) {
    facts.proxy_per_byte = *std::max_element(proxy.begin(), proxy.end());
    facts.sent_share = *std::max_element(sent.begin(), sent.end());
    for (std::size_t rank = 0; rank < sent.size(); ++rank) {
      facts.exchanged_share = std::max(facts.exchanged_share, sent[rank] + received[rank]);
    }
  }
  return result;
}

/// What one link carries, bytes / size.
struct LinkLoad {
  double all = 0;
  double stored = 0;   ///< of it by GPUs into each other's memory over PCIe
  double staged = 0;   ///< of it through host memory
  double fetched = 0;  ///< of what is staged
  double priced = 0;   ///< what is staged, at what it costs
};

LinkLoad load_of(const Loads& loads, const StagedFlows& staged, std::size_t id, std::size_t slot) {
  LinkLoad load{.all = loads.all[slot]};
  if (!loads.of_stores.empty()) load.stored = loads.of_stores[slot];
  if (staged.empty()) return load;
  load.staged = staged.load[id];
  load.fetched = staged.fetched[id];
  load.priced = staged.priced[id];
  return load;
}

/// Of a link in a machine. Stores are posted, and pass whole where the processor does not cut
/// them; a NIC fetches.
void see_link(const ClusterLink& link, const LinkLoad& load, const HostPlace& place,
              const NcclConstants& constants, NcclFacts& facts) {
  const double per_byte = 1 / link.capacity;
  if (link.kind == LinkKind::nvlink) {
    facts.nvlink_per_byte = std::max(facts.nvlink_per_byte, Seconds{load.all * per_byte});
    return;
  }
  facts.crosses_host_bridge = facts.crosses_host_bridge || place.at_bridge;
  const double overhead = store_overhead(place, constants);
  const double share = place.at_bridge ? constants.measured.host_bridge_share : 1;
  const double peers = load.stored * overhead + (load.all - load.staged - load.stored) / share;
  facts.pcie_per_byte = std::max(facts.pcie_per_byte, Seconds{(peers + load.priced) * per_byte});
  facts.planned_per_byte =
      std::max(facts.planned_per_byte, Seconds{(load.all - load.fetched) * overhead * per_byte});
}

/// Sees the links that are passed, and the machines that take part.
void see_links(const Cluster& cluster, const Loads& load, const StagedFlows& staged,
               const HostPlaces& places, const NcclGpus& gpus, const NcclConstants& constants,
               NcclFacts& facts) {
  std::map<const NodeGraph*, NodeFacts> known;  // looked up, never walked
  bool is_first = true;                         // of the machines that take part
  LinkId end = 0;                               // behind the last one's links
  int next = 0;                                 // the machine behind it
  load.slots.visit([&](std::size_t id, std::size_t slot) {
    if (load.all[slot] == 0) return;
    const ClusterLink& link = cluster.links()[id];
    const auto number = static_cast<LinkId>(id);
    if (number >= places.size()) {
      const Seconds per_byte{load.all[slot] / link.capacity};
      facts.other_per_byte = std::max(facts.other_per_byte, per_byte);
      facts.planned_per_byte = std::max(facts.planned_per_byte, per_byte);
      return;
    }
    if (number >= end) {
      for (; number >= end; ++next) {
        end += static_cast<LinkId>(cluster.node(next).resources().size());
      }
      const NodeGraph& node = cluster.node(next - 1);
      const auto [entry, is_new] = known.try_emplace(&node);
      if (is_new) entry->second = examine(node, gpus);
      join(facts, entry->second, std::exchange(is_first, false));
      facts.amd = facts.amd || places[number].of_amd;
    }
    see_link(link, load_of(load, staged, id, slot), places[number], constants, facts);
  });
}

}  // namespace

NcclFacts examine(const Cluster& cluster, const Pattern& pattern, const NcclGpus& gpus,
                  const NcclConstants& constants) {
  NcclFacts facts;
  const HostPlaces places(cluster);
  const Loads load = loads(cluster, pattern, places, facts);
  facts.stores_over_pcie = !load.of_stores.empty();
  const StagedFlows staged = staged_flows(cluster, pattern, places, constants);
  facts.staged_per_byte = staged.network_per_byte;
  see_links(cluster, load, staged, places, gpus, constants, facts);
  if (facts.network_latency.count() > 0) {
    const Fabric& fabric = cluster.fabric();
    facts.kernel_latency = 2 * longest(fabric, &PortSpec::message_overhead);
    facts.is_efa = is_efa(fabric);
    if (facts.is_efa) facts.stated_latency = constants.efa_stated_latency;
    facts.late_message = longest(fabric, &PortSpec::late_message);
    facts.rendezvous = longest(fabric, &PortSpec::rendezvous);
    facts.eager = eager_at_slowest(fabric, facts.rendezvous);
    facts.ports_of_machine = fabric.port_count() / cluster.node_count();
    facts.ports =
        static_cast<double>(sending_ports(fabric, load, places.size())) / pattern.machines;
    see_sockets(cluster, load, places.size(), facts);
  }
  facts.other_per_byte = std::max(facts.other_per_byte, facts.pcie_per_byte);
  return facts;
}

}  // namespace gradwire
