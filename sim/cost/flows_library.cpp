#include "sim/cost/flows_library.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/core/refusal.hpp"
#include "sim/cost/pattern_facts.hpp"

namespace gradwire {
namespace {

/// Those whose switches reduce: not every switch does, so they are taken by name only.
constexpr std::array<std::string_view, 4> by_switches = {"nvls", "nvls_tree", "collnet_direct",
                                                         "collnet_chain"};

std::optional<Pattern> planned(const AlgorithmVariant& variant, const Cluster& cluster,
                               const Placement& ranks) {
  try {
    return variant.plan(cluster, ranks);
  } catch (const SimulationError&) {
    return std::nullopt;  // other numbers of ranks, or other machines
  }
}

struct HopTime {
  Seconds latency;
  Seconds per_byte;  ///< of the collective's size, on its slowest link
};

HopTime hop_time(const Pattern& pattern, const PatternFlow& flow, const Cluster& cluster) {
  HopTime hop;
  for (const LinkId id : std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size)) {
    const ClusterLink& link = cluster.links()[static_cast<std::size_t>(id)];
    hop.latency += Seconds{link.latency};
    hop.per_byte = std::max(hop.per_byte, Seconds{flow.share / link.capacity});
  }
  return hop;
}

/// The longest chain of hops, and then a piece after the other over the slowest: what they take
/// beside the bytes on the busiest link.
HopTime pipeline(const Pattern& pattern, const Phase& phase, const Cluster& cluster) {
  std::map<std::pair<int, int>, HopTime> arrived;  // by group and rank
  HopTime longest;
  HopTime slowest;
  for (const PatternFlow& flow : phase.flows) {
    const HopTime hop = hop_time(pattern, flow, cluster);
    const HopTime before = arrived[{flow.group, flow.source}];
    HopTime& there = arrived[{flow.group, flow.destination}];
    there.latency = std::max(there.latency, before.latency + hop.latency);
    there.per_byte = std::max(there.per_byte, before.per_byte + hop.per_byte);
    longest.latency = std::max(longest.latency, there.latency);
    longest.per_byte = std::max(longest.per_byte, there.per_byte);
    slowest.latency = std::max(slowest.latency, hop.latency);
    slowest.per_byte = std::max(slowest.per_byte, hop.per_byte);
  }
  return {.latency = longest.latency + (phase.steps - 1) * slowest.latency,
          .per_byte = 1.0 / phase.steps * (longest.per_byte - slowest.per_byte)};
}

HopTime beside_bytes(const Pattern& pattern, const Phase& phase, const Cluster& cluster) {
  if (phase.coupling == Coupling::pipeline) return pipeline(pattern, phase, cluster);
  Seconds slowest;
  for (const PatternFlow& flow : phase.flows) {
    slowest = std::max(slowest, hop_time(pattern, flow, cluster).latency);
  }
  return {.latency = phase.steps * slowest, .per_byte = {}};
}

}  // namespace

FlowsLibrary::FlowsLibrary(std::shared_ptr<const Cluster> cluster, std::string algorithm)
    : cluster_(std::move(cluster)), algorithm_(std::move(algorithm)) {
  assert(cluster_);
}

std::vector<Pattern> FlowsLibrary::plan(CollectiveKind kind, const Placement& ranks) const {
  if (const AlgorithmVariant* named = find_algorithm(algorithm_, kind)) {
    try {
      return {named->plan(*cluster_, ranks)};
    } catch (const UnsupportedConfiguration&) {  // a machine lacks something
      throw;
    } catch (const SimulationError& error) {
      throw UnsupportedConfiguration(UnsupportedConfiguration::Key::library, error.what());
    }
  }
  std::vector<Pattern> patterns;
  for (const Algorithm& algorithm : algorithms()) {
    if (std::ranges::find(by_switches, algorithm.name) != by_switches.end()) continue;
    const AlgorithmVariant* variant = find_algorithm(algorithm.name, kind);
    if (variant == nullptr) continue;
    if (auto pattern = planned(*variant, *cluster_, ranks)) patterns.push_back(std::move(*pattern));
  }
  assert(!patterns.empty());  // each collective has an algorithm for any number of ranks
  return patterns;
}

const FlowsLibrary::Line& FlowsLibrary::line_of(const Pattern& pattern) const {
  assert(pattern.key != 0);
  const auto known = lines_.find(pattern.key);
  if (known != lines_.end()) return known->second;
  Line line;
  for (const Seconds busiest : examine(pattern, cluster_->links()).per_byte) {
    line.per_byte += busiest;
  }
  for (const Phase& phase : pattern.phases) {
    const auto [latency, per_byte] = beside_bytes(pattern, phase, *cluster_);
    line.latency += latency;
    line.per_byte += per_byte;
  }
  return lines_.emplace(pattern.key, line).first->second;
}

CollectiveChoice FlowsLibrary::choose(std::span<const Pattern> patterns, Bytes size) const {
  assert(!patterns.empty());
  const auto time = [&](const Pattern& pattern) {
    const Line& line = line_of(pattern);
    return line.latency + static_cast<double>(size.count()) * line.per_byte;
  };
  const auto fastest =
      patterns.size() == 1 ? patterns.begin() : std::ranges::min_element(patterns, {}, time);
  CollectiveChoice choice;
  choice.pattern = static_cast<std::size_t>(fastest - patterns.begin());
  choice.cost.algorithm = fastest->algorithm;
  choice.cost.source = "model";
  return choice;
}

}  // namespace gradwire
