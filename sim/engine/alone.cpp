#include "sim/engine/alone.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace gradwire {
namespace {

/// Time that the busiest link needs for one byte of the collective.
double seconds_per_byte(const Pattern& pattern, const Cluster& cluster) {
  std::vector<double> load(cluster.links().size());
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      for (const LinkId link :
           std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size)) {
        load[static_cast<std::size_t>(link)] += flow.share;
      }
    }
  }
  double most = 0;
  for (std::size_t i = 0; i < load.size(); ++i) {
    most = std::max(most, load[i] / cluster.links()[i].capacity);
  }
  return most;
}

}  // namespace

std::vector<AloneTime> time_alone(const Cluster& cluster, const CollectiveLibrary& library,
                                  CollectiveKind kind, const Placement& ranks,
                                  std::span<const Bytes> sizes, EngineOptions options) {
  const std::vector<Pattern> patterns = library.plan(kind, ranks);
  options.one_at_a_time = true;
  const auto engine = make_engine(cluster, patterns, options);
  std::vector<double> bounds;
  bounds.reserve(patterns.size());
  for (const Pattern& pattern : patterns) bounds.push_back(seconds_per_byte(pattern, cluster));
  std::vector<AloneTime> times;
  Seconds begin;
  const auto start_next = [&] {
    const std::size_t index = times.size();
    if (index == sizes.size()) return;
    const Bytes size = sizes[index];
    const auto [pattern, cost] = library.choose(patterns, size);
    times.push_back({.size = size,
                     .time = {},
                     .bound = Seconds{bounds[pattern] * static_cast<double>(size.count())},
                     .algorithm = cost.algorithm,
                     .protocol = cost.protocol,
                     .source = cost.source});
    begin = engine->now();
    engine->network().start(static_cast<TransferId>(index), static_cast<PatternId>(pattern), size,
                            cost);
  };
  engine->at(Seconds{0}, start_next);
  engine->run([&](TransferId /*id*/, Seconds now) {
    times.back().time = now - begin;
    start_next();
  });
  return times;
}

}  // namespace gradwire
