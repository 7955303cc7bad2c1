#include "sim/engine/uncontended.hpp"

#include <cstddef>

#include "sim/cost/collective_shape.hpp"

namespace gradwire {
std::vector<UncontendedTime> uncontended_times(const Cluster& cluster,
                                               const CollectiveLibrary& library,
                                               CollectiveKind kind, const Placement& ranks,
                                               std::span<const Bytes> sizes,
                                               EngineOptions options) {
  const std::vector<Pattern> patterns = library.plan(kind, ranks);
  options.one_at_a_time = true;
  const auto engine = make_engine(cluster, patterns, options);
  std::vector<Seconds> per_byte;
  per_byte.reserve(patterns.size());
  for (const Pattern& pattern : patterns) per_byte.push_back(busiest_link_time(pattern, cluster));
  std::vector<UncontendedTime> times;
  Seconds begin;
  const auto start_next = [&] {
    const std::size_t index = times.size();
    if (index == sizes.size()) return;
    const Bytes size = sizes[index];
    const auto [pattern, cost] = library.choose(patterns, size);
    times.push_back({.size = size,
                     .time = {},
                     .bound = static_cast<double>(size.count()) * per_byte[pattern],
                     .cost = cost});
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
