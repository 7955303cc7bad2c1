#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"
#include "tests/engine/oracle/reference_transport.hpp"

namespace gradwire::toy {

/// Ranks around one switch: rank r sends over link 2r and receives over link 2r + 1.
inline std::vector<ClusterLink> star(int ranks, double bandwidth, double route_latency) {
  return std::vector<ClusterLink>(static_cast<std::size_t>(2 * ranks),
                                  {bandwidth, route_latency / 2, LinkKind::network});
}

/// The ranks 0, stride, 2 stride, ... below `end`.
inline std::vector<int> ranks(int end, int stride = 1) {
  std::vector<int> result;
  for (int r = 0; r < end; r += stride) result.push_back(r);
  return result;
}

inline void add_flow(Pattern& pattern, Phase& phase, int from, int to, double share, int group) {
  const auto begin = static_cast<std::uint32_t>(pattern.path_links.size());
  pattern.path_links.push_back(2 * from);
  pattern.path_links.push_back(2 * to + 1);
  phase.flows.push_back({from, to, share, group, begin, 2});
}

/// All-reduce: in each of 2 (n-1) steps a rank sends 1/n of its channel's part.
inline Pattern ring(const std::vector<int>& members, int channels = 1) {
  Pattern pattern;
  pattern.algorithm = "ring";
  pattern.ranks = static_cast<int>(members.size());
  pattern.channels = channels;
  const std::size_t n = members.size();
  Phase phase;
  phase.coupling = Coupling::ring;
  phase.steps = static_cast<int>(2 * (n - 1));
  const double share = 2.0 * static_cast<double>(n - 1) / static_cast<double>(n) / channels;
  for (int channel = 0; channel < channels; ++channel) {
    for (std::size_t i = 0; i < n; ++i) {
      add_flow(pattern, phase, members[i], members[(i + 1) % n], share, channel);
    }
  }
  if (n > 1) pattern.phases.push_back(phase);
  return pattern;
}

/// Broadcast down a line, in `pieces`.
inline Pattern chain(const std::vector<int>& members, int pieces) {
  Pattern pattern;
  pattern.kind = CollectiveKind::broadcast;
  pattern.algorithm = "ring";
  pattern.ranks = static_cast<int>(members.size());
  Phase phase;
  phase.coupling = Coupling::pipeline;
  phase.steps = pieces;
  for (std::size_t i = 0; i + 1 < members.size(); ++i) {
    add_flow(pattern, phase, members[i], members[i + 1], 1, 0);
  }
  pattern.phases.push_back(phase);
  return pattern;
}

/// Each pair (from, to) moves the whole size, by itself.
inline Pattern pairs(const std::vector<std::pair<int, int>>& ends) {
  Pattern pattern;
  pattern.algorithm = "pairs";
  pattern.ranks = 2;
  Phase phase;
  for (const auto& [from, to] : ends) add_flow(pattern, phase, from, to, 1, 0);
  pattern.phases.push_back(phase);
  return pattern;
}

inline CollectiveCost start_up(double seconds) {
  CollectiveCost cost;
  cost.startup = Seconds{seconds};
  return cost;
}

inline CollectiveCost uncontended(double seconds) {
  CollectiveCost cost;
  cost.uncontended = Seconds{seconds};
  return cost;
}

inline CollectiveCost wire_efficiency(double efficiency) {
  CollectiveCost cost;
  cost.efficiency = efficiency;
  return cost;
}

struct Start {
  double at = 0;  ///< seconds
  PatternId pattern = 0;
  std::int64_t bytes = 0;
  CollectiveCost cost = {};
};

/// @param reference  with the oracle in the place of the product's transports.
inline EngineOptions options(Fidelity fidelity, bool reference = false) {
  EngineOptions options;
  options.fidelity = fidelity;
  if (reference) options.transport = make_reference_transport;
  return options;
}

/// Runs the transfers, named 0, 1, ... @return when each ends, in seconds.
inline std::vector<double> run_with(const std::vector<ClusterLink>& links,
                                    const std::vector<Pattern>& patterns,
                                    const std::vector<Start>& starts,
                                    const EngineOptions& options) {
  const auto engine = make_engine(links, patterns, options);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    engine->at(Seconds{starts[i].at}, [&, i] {
      engine->network().start(static_cast<TransferId>(i), starts[i].pattern, Bytes{starts[i].bytes},
                              starts[i].cost);
    });
  }
  std::vector<double> ends(starts.size(), -1);
  engine->run(
      [&](TransferId id, Seconds now) { ends[static_cast<std::size_t>(id)] = now.count(); });
  return ends;
}

/// The same.
inline std::vector<double> run(const std::vector<ClusterLink>& links,
                               const std::vector<Pattern>& patterns,
                               const std::vector<Start>& starts, Fidelity fidelity,
                               bool reference = false) {
  return run_with(links, patterns, starts, options(fidelity, reference));
}

}  // namespace gradwire::toy
