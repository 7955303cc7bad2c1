#include "sim/cost/collective_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, hop_classes.size()> hop_class_names = {"nvlink", "pcie",
                                                                              "network"};

std::span<const LinkId> links_of(const Pattern& pattern, const PatternFlow& flow) {
  return std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size);
}

HopClass hops_of(const Pattern& pattern, const PatternFlow& flow, const Cluster& cluster) {
  HopClass slowest = HopClass::nvlink;
  for (const LinkId link : links_of(pattern, flow)) {
    const LinkKind kind = cluster.links()[static_cast<std::size_t>(link)].kind;
    if (kind == LinkKind::network) return HopClass::network;
    if (kind != LinkKind::nvlink) slowest = HopClass::pcie;
  }
  return slowest;
}

/// Hops that follow each other; compared by those between machines first.
struct Hops {
  int network = 0;
  int local = 0;
  auto operator<=>(const Hops&) const = default;
};

/// The longest chain of a pipeline: a flow waits for those before it that end where it begins.
Hops longest_chain(const Pattern& pattern, const Phase& phase, const Cluster& cluster) {
  std::map<std::pair<int, int>, Hops> arrived;  // by group and rank
  Hops longest;
  for (const PatternFlow& flow : phase.flows) {
    Hops hops = arrived[{flow.group, flow.source}];
    const bool crosses = hops_of(pattern, flow, cluster) == HopClass::network;
    ++(crosses ? hops.network : hops.local);
    Hops& there = arrived[{flow.group, flow.destination}];
    there = std::max(there, hops);
    longest = std::max(longest, there);
  }
  return longest;
}

void add_steps(const Pattern& pattern, const Phase& phase, const Cluster& cluster,
               CollectiveShape& shape) {
  if (phase.coupling == Coupling::pipeline) {
    const Hops hops = longest_chain(pattern, phase, cluster);
    shape.network_steps += hops.network;
    shape.local_steps += hops.local;
    return;
  }
  const bool crosses = std::ranges::any_of(phase.flows, [&](const PatternFlow& flow) {
    return hops_of(pattern, flow, cluster) == HopClass::network;
  });
  double network_share = crosses ? 1 : 0;
  if (phase.coupling == Coupling::ring && pattern.ranks > 1) {
    network_share *= static_cast<double>(pattern.machines - 1) / (pattern.ranks - 1);
  }
  shape.network_steps += phase.steps * network_share;
  shape.local_steps += phase.steps * (1 - network_share);
}

}  // namespace

std::string_view name_of(HopClass hops) {
  return hop_class_names.at(static_cast<std::size_t>(hops));
}

std::optional<HopClass> hop_class(std::string_view name) {
  for (const HopClass hops : hop_classes) {
    if (name_of(hops) == name) return hops;
  }
  return std::nullopt;
}

CollectiveShape shape_of(const Pattern& pattern, const Cluster& cluster) {
  CollectiveShape shape;
  shape.ranks = pattern.ranks;
  shape.machines = pattern.machines;
  for (const Phase& phase : pattern.phases) {
    add_steps(pattern, phase, cluster, shape);
    for (const PatternFlow& flow : phase.flows) {
      const HopClass hops = hops_of(pattern, flow, cluster);
      shape.hops = std::max(shape.hops, hops);
      Seconds latency;
      for (const LinkId link : links_of(pattern, flow)) {
        latency += Seconds{cluster.links()[static_cast<std::size_t>(link)].latency};
      }
      Seconds& most = hops == HopClass::network ? shape.network_latency : shape.local_latency;
      most = std::max(most, latency);
    }
  }
  shape.per_byte = busiest_link_time(pattern, cluster);
  return shape;
}

Seconds busiest_link_time(const Pattern& pattern, const Cluster& cluster) {
  std::vector<double> load(cluster.links().size());
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      for (const LinkId link : links_of(pattern, flow)) {
        load[static_cast<std::size_t>(link)] += flow.share;
      }
    }
  }
  Seconds most;
  for (std::size_t i = 0; i < load.size(); ++i) {
    most = std::max(most, Seconds{load[i] / cluster.links()[i].capacity});
  }
  return most;
}

}  // namespace gradwire
