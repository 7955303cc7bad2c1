#include "calibration/capture/bench/samples.hpp"

#include <algorithm>
#include <numeric>

namespace gradwire::calibration {

SampleSummary summarise(std::vector<double> samples_us) {
  std::sort(samples_us.begin(), samples_us.end());
  const std::size_t count = samples_us.size();
  const auto nearest_rank = [&](std::size_t percent) {
    return samples_us[(percent * count + 99) / 100 - 1];
  };
  SampleSummary summary;
  summary.n = static_cast<int>(count);
  summary.mean =
      std::accumulate(samples_us.begin(), samples_us.end(), 0.0) / static_cast<double>(count);
  summary.min = samples_us.front();
  summary.p50 = nearest_rank(50);
  summary.p95 = nearest_rank(95);
  summary.p99 = nearest_rank(99);
  summary.max = samples_us.back();
  return summary;
}

void write_summary(JsonWriter& json, const SampleSummary& summary) {
  json.member("n", summary.n)
      .member("mean_us", summary.mean)
      .member("min_us", summary.min)
      .member("p50_us", summary.p50)
      .member("p95_us", summary.p95)
      .member("p99_us", summary.p99)
      .member("max_us", summary.max);
}

}  // namespace gradwire::calibration
