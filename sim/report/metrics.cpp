#include "sim/report/metrics.hpp"

#include <cassert>
#include <cstddef>

namespace gradwire {

Metrics metrics_of(const RunResult& result) {
  assert(!result.iteration_s.empty());
  const PooledSamples pooled(result.samples, result.sample_weight);
  Metrics m;
  m.global_batch = global_batch(result);
  m.mean = mean(result.iteration_s);
  m.p50 = pooled.percentile(50);
  m.p75 = pooled.percentile(75);
  m.p90 = pooled.percentile(90);
  m.p95 = pooled.percentile(95);
  m.low = m.p50 * (1 - result.spread_low);
  m.high = m.p50 * (1 + result.spread_high);
  const double idle_share = result.idle_ranks / result.world_size;
  m.throughput = static_cast<double>(m.global_batch) * (1 - idle_share) / m.mean;
  m.throughput_per_gpu = m.throughput / result.world_size;
  m.tokens_per_s = m.throughput * result.tokens_per_sample;
  m.flops_per_gpu = m.throughput_per_gpu * result.model_flops;
  if (result.peak_flops > 0) {
    m.mfu = m.flops_per_gpu / result.peak_flops;
    m.hfu = m.mfu + m.throughput_per_gpu * result.recomputed_flops / result.peak_flops;
  }
  m.single_gpu_throughput =
      static_cast<double>(m.global_batch) / result.world_size / result.single_gpu_iteration_s;
  m.scaling_efficiency = m.throughput_per_gpu / m.single_gpu_throughput;
  return m;
}

bool shows_work(const RunResult& result) {
  return result.tokens_per_sample > 0 ||
         (result.profile_source == "analytic" && result.model_flops > 0);
}

double seconds_of(const RunResult& result, Part part) {
  return result.breakdown[static_cast<std::size_t>(part)];
}

}  // namespace gradwire
