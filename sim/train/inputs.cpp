#include "sim/train/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace gradwire {
namespace {

/// Of the mean iteration, above that of its inputs: it does not wait for them only.
constexpr double input_margin = 0.01;

}  // namespace

Seconds input_time(const Job& job) {
  if (job.run.input_rate <= 0) return {};
  const auto ranks = std::ranges::count(job.placement, job.placement.front().node, &GpuRef::node);
  const auto samples = ranks * job.profile.batch_per_gpu * job.micro_batches;
  return Seconds{static_cast<double>(samples) / job.run.input_rate};
}

std::optional<Warning> input_warning(const Job& job, const RunResult& result) {
  const double inputs = input_time(job).count();
  const double taken = std::accumulate(result.breakdown.begin(), result.breakdown.end(), 0.0);
  if (taken > (1 + input_margin) * inputs) return std::nullopt;
  return Warning{"waits-for-inputs",
                 fmt::format("a machine's input pipeline takes {:.4g} ms an iteration, at {:.6g} "
                             "samples/s: GPUs wait for it",
                             1e3 * inputs, job.run.input_rate)};
}

}  // namespace gradwire
