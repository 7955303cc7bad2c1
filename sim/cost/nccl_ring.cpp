#include "sim/cost/nccl_ring.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace gradwire {
namespace {

constexpr NcclVersion first_with_ll128{2, 5};

HopKind kind_of(LinkKind link) {
  if (link == LinkKind::network) return hop_network;
  return link == LinkKind::nvlink ? hop_nvlink : hop_pcie;
}

double efficiency_of(const NcclProtocol& protocol, const Pattern& pattern, Seconds per_byte) {
  const bool is_all_reduce = pattern.kind == CollectiveKind::all_reduce;
  double efficiency = protocol.efficiency;
  if (!is_all_reduce && pattern.machines == 1) efficiency = protocol.efficiency_local_broadcast;
  if (pattern.machines == pattern.ranks) efficiency = protocol.efficiency_lone_gpus;
  const BytesPerSecond limit =
      is_all_reduce ? protocol.channel_all_reduce : protocol.channel_broadcast;
  if (limit.count() == 0) return efficiency;
  const double traffic = is_all_reduce ? 2.0 * (pattern.ranks - 1) / pattern.ranks : 1;
  const double bus_bandwidth = traffic / per_byte.count();
  return std::min(efficiency, limit.count() * pattern.channels / bus_bandwidth);
}

}  // namespace

NcclRing::NcclRing(const Cluster& cluster, NcclVersion version, const NcclRingConstants& constants)
    : cluster_(cluster), version_(version), constants_(constants) {}

NcclRing::Facts NcclRing::examine(const Pattern& pattern) const {
  Facts facts;
  std::vector<double> load(cluster_.links().size());
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      HopKind kind = hop_nvlink;
      Seconds latency;
      for (std::uint32_t i = 0; i < flow.path_size; ++i) {
        const auto id = static_cast<std::size_t>(pattern.path_links[flow.path_begin + i]);
        const ClusterLink& link = cluster_.links()[id];
        load[id] += flow.share;
        latency += Seconds{link.latency};
        kind = std::max(kind, kind_of(link.kind));
        if (link.kind == LinkKind::smp) facts.allows_ll128 = false;
      }
      facts.link_latency[kind] = std::max(facts.link_latency[kind], latency);
      if (kind == hop_pcie) facts.has_pcie_hop = true;
    }
  }
  for (std::size_t id = 0; id < load.size(); ++id) {
    facts.per_byte = std::max(facts.per_byte, Seconds{load[id] / cluster_.links()[id].capacity});
  }
  facts.allows_ll128 = facts.allows_ll128 && !facts.has_pcie_hop && version_ >= first_with_ll128;
  return facts;
}

NcclRing::Facts NcclRing::facts_of(const Pattern& pattern) const {
  if (pattern.key == 0) return examine(pattern);
  const auto known = known_.find(pattern.key);
  if (known != known_.end()) return known->second;
  return known_.emplace(pattern.key, examine(pattern)).first->second;
}

NcclRing::Estimate NcclRing::estimate(const NcclProtocol& protocol, const Pattern& pattern,
                                      const Facts& facts, Bytes size) const {
  const HopKind local = facts.has_pcie_hop ? hop_pcie : hop_nvlink;
  const bool is_across = pattern.machines > 1;
  Estimate estimate{.protocol = &protocol,
                    .startup = protocol.base,
                    .hop = Seconds{},
                    .efficiency = efficiency_of(protocol, pattern, facts.per_byte),
                    .time = Seconds{}};
  double hops = 0;
  if (pattern.kind == CollectiveKind::all_reduce) {
    hops = 2.0 * (pattern.ranks - 1);
    const double network_share = 2.0 * (pattern.machines - 1) / hops;
    const Seconds local_hop = (is_across ? protocol.local_hop_factor : 1) * protocol.hop[local];
    estimate.hop = (1 - network_share) * local_hop + network_share * protocol.hop[hop_network];
    const bool is_plateau = protocol.name == "simple" && is_across &&
                            size.count() >= constants_.plateau_size.count() * pattern.ranks;
    if (is_plateau) {
      estimate.startup = constants_.plateau * estimate.startup;
      estimate.hop = constants_.plateau * estimate.hop;
    }
  } else {
    hops = pattern.ranks;
    estimate.hop = protocol.broadcast_hop[is_across ? hop_network : local];
  }
  estimate.startup += constants_.launch;
  const double wire_bytes = static_cast<double>(size.count()) / estimate.efficiency;
  estimate.time = estimate.startup + hops * estimate.hop + wire_bytes * facts.per_byte;
  return estimate;
}

NcclRing::Estimate NcclRing::best(const Pattern& pattern, const Facts& facts, Bytes size) const {
  Estimate best;
  for (const NcclProtocol& protocol : constants_.protocols) {
    if (protocol.name == "ll128" && !facts.allows_ll128) continue;
    const Estimate candidate = estimate(protocol, pattern, facts, size);
    if (best.protocol == nullptr || candidate.time < best.time) best = candidate;
  }
  assert(best.protocol != nullptr);
  return best;
}

CollectiveCost NcclRing::price(const Pattern& pattern, Bytes size) const {
  CollectiveCost cost;
  cost.algorithm = pattern.algorithm;
  cost.source = "model";
  if (pattern.phases.empty()) return cost;  // one rank, in place: NCCL launches nothing
  const Facts facts = facts_of(pattern);
  const Estimate best = this->best(pattern, facts, size);
  cost.efficiency = best.efficiency;
  cost.protocol = best.protocol->name;
  if (pattern.kind == CollectiveKind::broadcast) {
    cost.alone = best.time;
    return cost;
  }
  const auto beside_links = [&](HopKind kind) {
    return std::max(Seconds{}, best.hop - facts.link_latency[kind]);
  };
  cost.startup = best.startup;
  cost.hop_nvlink = beside_links(hop_nvlink);
  cost.hop_pcie = beside_links(hop_pcie);
  cost.hop_network = beside_links(hop_network);
  return cost;
}

Seconds NcclRing::time_alone(const Pattern& pattern, Bytes size) const {
  if (pattern.phases.empty()) return Seconds{};
  return best(pattern, facts_of(pattern), size).time;
}

}  // namespace gradwire
