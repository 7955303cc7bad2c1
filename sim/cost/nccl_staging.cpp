#include "sim/cost/nccl_staging.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "sim/collectives/machine_fold.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

using Links = std::span<const LinkId>;

/// The parts of a flow's way that kernels move its bytes over; empty where nothing is staged.
struct Parts {
  Links store;    ///< from the sender to host memory
  Links load;     ///< from host memory to the receiver
  Links sockets;  ///< between them, inside one machine
  bool is_across = false;
};

class Walk {
 public:
  Walk(const Cluster& cluster, const HostPlaces& places) : cluster_(cluster), places_(places) {}

  [[nodiscard]] Parts parts(Links path) const {
    const auto is_network = [&](LinkId id) { return link(id).kind == LinkKind::network; };
    const auto first = std::ranges::find_if(path, is_network);
    if (first == path.end()) return inside(path);
    const auto out = static_cast<std::size_t>(first - path.begin());
    const auto end = std::find_if(path.rbegin(), path.rend(), is_network);
    const auto in = static_cast<std::size_t>(path.rend() - end);
    // Behind a port may stand what its directions share.
    const auto last = std::find_if(end, path.rend(), [&](LinkId id) {
      return is_network(id) && port_of(id) < cluster_.fabric().port_count();
    });
    Parts parts;
    parts.is_across = true;
    if (const Links way = path.first(out); !reaches_port(*first) || ends_peers(way)) {
      parts.store = way.first(to_memory(way));
    }
    if (const Links way = path.subspan(in); !reaches_port(*last) || ends_peers(way)) {
      parts.load = way.subspan(from_memory(way));
    }
    return parts;
  }

 private:
  [[nodiscard]] const ClusterLink& link(LinkId id) const {
    return cluster_.links()[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const HostPlace& place(LinkId id) const { return places_[id]; }
  /// Each port has two links, after those of all machines.
  [[nodiscard]] int port_of(LinkId id) const { return (id - places_.size()) / 2; }
  [[nodiscard]] bool reaches_port(LinkId id) const {
    return cluster_.fabric().port_spec(port_of(id)).gpudirect;
  }
  [[nodiscard]] bool ends_peers(Links way) const {
    return std::ranges::any_of(way, [&](LinkId id) { return place(id).ends_peers; });
  }
  /// How many links lead to the first host memory; all where the machine tells of none.
  [[nodiscard]] std::size_t to_memory(Links way) const {
    const auto found = std::ranges::find_if(way, [&](LinkId id) { return place(id).to_memory; });
    return found == way.end() ? way.size() : static_cast<std::size_t>(found - way.begin()) + 1;
  }
  /// How many links lead to the last host memory; none where the machine tells of none.
  [[nodiscard]] std::size_t from_memory(Links way) const {
    const auto found =
        std::find_if(way.rbegin(), way.rend(), [&](LinkId id) { return place(id).to_memory; });
    return static_cast<std::size_t>(way.rend() - found);
  }
  [[nodiscard]] Parts inside(Links path) const {
    if (!ends_peers(path)) return {};
    const std::size_t to = to_memory(path);
    const std::size_t from = std::max(to, from_memory(path));
    return {.store = path.first(to),
            .load = path.subspan(from),
            .sockets = path.subspan(to, from - to)};
  }

  const Cluster& cluster_;
  const HostPlaces& places_;
};

/// What a rank's kernel moves through host memory / size of the collective.
struct Moved {
  double stored = 0;
  double loaded = 0;

  /// Bytes that a stored, or loaded, one counts as on a link that gives so much to both at once.
  [[nodiscard]] double weight(double own, double duplex_share) const {
    const double both = std::min(stored, loaded);
    return 1 + (1 / duplex_share - 1) * both / own;
  }
};

/// Of a link's rate, what a kernel that stores and loads gets each way.
double duplex_share(const ClusterLink& link, const HostPlace& place, bool is_across,
                    const NcclMeasured& measured) {
  if (is_across) return measured.host_duplex_share;
  const double stated = std::min(1.0, place.staged.count() / link.capacity);
  if (!place.at_gpu) return std::max(measured.host_duplex_share, stated);
  return stated > 0 ? stated : measured.host_own_share;
}

/// Bytes that one between peers counts as: a port's are cut at any bridge.
double peer_weight(const HostPlace& place, bool is_across, const NcclConstants& constants) {
  if (!is_across) return store_overhead(place, constants);
  return place.at_bridge ? 1 / constants.measured.host_bridge_share : 1;
}

Seconds slowest(const Cluster& cluster, Links links) {
  Seconds most;
  for (const LinkId id : links) {
    most = std::max(most, Seconds{1 / cluster.links()[static_cast<std::size_t>(id)].capacity});
  }
  return most;
}

/// A flow that passes through host memory.
struct Staged {
  const PatternFlow* flow;
  Parts parts;
};

std::vector<Staged> staged_of(const Walk& walk, const Pattern& pattern) {
  std::vector<Staged> staged;
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      const Parts parts =
          walk.parts(Links(pattern.path_links).subspan(flow.path_begin, flow.path_size));
      if (!parts.store.empty() || !parts.load.empty()) staged.push_back({&flow, parts});
    }
  }
  return staged;
}

std::vector<Moved> moved_by_rank(const std::vector<Staged>& staged, int ranks) {
  std::vector<Moved> moved(static_cast<std::size_t>(ranks));
  for (const auto& [flow, parts] : staged) {
    if (!parts.store.empty()) moved[static_cast<std::size_t>(flow->source)].stored += flow->share;
    if (!parts.load.empty())
      moved[static_cast<std::size_t>(flow->destination)].loaded += flow->share;
  }
  return moved;
}

}  // namespace

double store_overhead(const HostPlace& place, const NcclConstants& constants) {
  return place.at_bridge && !place.of_amd ? constants.intel_p2p_overhead : 1;
}

std::vector<HostPlace> host_places(const NodeGraph& node) {
  const DeviceGraph& graph = node.graph();
  const auto& vertices = graph.vertices();
  const bool has_numa = std::ranges::any_of(
      vertices, [&](DeviceId id) { return graph[id].kind == DeviceKind::numa; });
  const bool of_amd = std::ranges::any_of(vertices, [&](DeviceId id) {
    return graph[id].kind == DeviceKind::numa && graph[id].model.starts_with("amd");
  });
  const DeviceKind memory = has_numa ? DeviceKind::numa : DeviceKind::host_bridge;
  std::vector<HostPlace> places(node.resources().size());
  for (const auto& edge : graph.edges()) {
    const DeviceKind from = graph[edge.source].kind;
    const DeviceKind to = graph[edge.target].kind;
    HostPlace& place = places[static_cast<std::size_t>(edge.number)];
    place.at_bridge = from == DeviceKind::host_bridge || to == DeviceKind::host_bridge;
    place.of_amd = of_amd;
    place.to_memory = to == memory;
    place.at_gpu = from == DeviceKind::gpu || to == DeviceKind::gpu;
    place.staged = node.staged_bandwidth.value_or(BytesPerSecond{});
    place.ends_peers = graph[edge].kind != LinkKind::nvlink && !node.lets_peers_pass(to);
  }
  return places;
}

HostPlaces::HostPlaces(const Cluster& cluster) {
  bool alike = true;
  for (int index = 0; index < cluster.node_count(); ++index) {
    const NodeGraph& node = cluster.node(index);
    alike = alike && &node == &cluster.node(0);
    size_ += static_cast<LinkId>(node.resources().size());
  }
  std::map<const NodeGraph*, std::vector<HostPlace>> known;  // looked up, never walked
  for (int index = 0; index < (alike ? 1 : cluster.node_count()); ++index) {
    const NodeGraph& node = cluster.node(index);
    const auto [of_type, is_new] = known.try_emplace(&node);
    if (is_new) of_type->second = host_places(node);
    places_.insert(places_.end(), of_type->second.begin(), of_type->second.end());
  }
}

bool HostPlaces::end_peers() const {
  return std::ranges::any_of(places_, &HostPlace::ends_peers);
}

StagedFlows staged_flows(const Cluster& cluster, const Pattern& pattern, const HostPlaces& places,
                         const NcclConstants& constants) {
  StagedFlows result;
  if (!places.end_peers() &&
      std::ranges::all_of(cluster.fabric().port_specs(), &PortSpec::gpudirect)) {
    return result;
  }
  const Walk walk(cluster, places);
  const std::vector<Staged> staged = staged_of(walk, pattern);
  // What a rank moves inside its machine and beyond adds up: each rank's is needed.
  if (pattern.is_folded() &&
      std::ranges::any_of(staged, [](const Staged& flow) { return !flow.parts.is_across; })) {
    return staged_flows(cluster, unfolded(pattern), places, constants);
  }
  if (staged.empty()) return result;
  result.load.resize(cluster.links().size());
  result.priced.resize(cluster.links().size());
  result.fetched.resize(cluster.links().size());
  const std::vector<Moved> moved = moved_by_rank(staged, pattern.ranks);
  const auto add = [&](LinkId id, double share, double weight, bool is_across) {
    const auto at = static_cast<std::size_t>(id);
    result.load[at] += share;
    result.priced[at] += share * std::max(weight, peer_weight(places[id], is_across, constants));
  };
  const auto add_kernel = [&](Links links, double share, const Moved& rank, double own,
                              bool is_across) {
    for (const LinkId id : links) {
      const double duplex = duplex_share(cluster.links()[static_cast<std::size_t>(id)], places[id],
                                         is_across, constants.measured);
      add(id, share, rank.weight(own, duplex), is_across);
    }
  };
  for (const auto& [flow, parts] : staged) {
    const Moved& source = moved[static_cast<std::size_t>(flow->source)];
    const Moved& destination = moved[static_cast<std::size_t>(flow->destination)];
    add_kernel(parts.store, flow->share, source, source.stored, parts.is_across);
    add_kernel(parts.load, flow->share, destination, destination.loaded, parts.is_across);
    for (const LinkId id : parts.sockets) add(id, flow->share, 1, parts.is_across);
    // There and back, NodeGraph::route.
    for (std::size_t i = 1; i < parts.sockets.size(); i += 2) {
      result.fetched[static_cast<std::size_t>(parts.sockets[i])] += flow->share;
    }
    if (!parts.is_across) continue;
    result.network_per_byte = std::max(
        result.network_per_byte, slowest(cluster, parts.store) + slowest(cluster, parts.load));
  }
  return result;
}

}  // namespace gradwire
