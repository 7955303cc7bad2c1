#pragma once

#include <vector>

#include "calibration/capture/common/json_writer.hpp"

namespace gradwire::calibration {

/// How often a call took how long, in microseconds.
struct SampleSummary {
  int n = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

/// Percentiles by nearest rank: the ceil(p n)-th smallest, as nccl-tests takes them.
/// REQUIRES: at least one sample.
[[nodiscard]] SampleSummary summarise(std::vector<double> samples_us);

/// Adds n, mean_us, min_us, p50_us, p95_us, p99_us and max_us to the object that is open.
void write_summary(JsonWriter& json, const SampleSummary& summary);

}  // namespace gradwire::calibration
