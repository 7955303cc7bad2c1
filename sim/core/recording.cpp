#include "sim/core/recording.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "sim/core/statistics.hpp"

namespace gradwire {

Percentiles percentiles_of(std::span<const Seconds> samples) {
  assert(!samples.empty());
  std::vector<double> sorted;
  sorted.reserve(samples.size());
  for (const Seconds sample : samples) sorted.push_back(sample.count());
  std::ranges::sort(sorted);
  const auto ranked = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(sorted.size()));
    return Seconds{sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1]};
  };
  Percentiles result;
  result.count = static_cast<std::int64_t>(sorted.size());
  result.mean = Seconds{mean(sorted)};
  result.stdev = Seconds{stdev(sorted)};
  result.min = Seconds{sorted.front()};
  result.p1 = ranked(0.01);
  result.p5 = ranked(0.05);
  result.p25 = ranked(0.25);
  result.p50 = ranked(0.5);
  result.p75 = ranked(0.75);
  result.p95 = ranked(0.95);
  result.p99 = ranked(0.99);
  result.max = Seconds{sorted.back()};
  return result;
}

}  // namespace gradwire
