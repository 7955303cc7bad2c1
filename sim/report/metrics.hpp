#pragma once

#include <cstdint>

#include "sim/core/result.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire {

/// The figures that reports derive from a result. Seconds, samples per second.
struct Metrics {
  std::int64_t global_batch = 0;  ///< samples of an iteration in which all ranks have inputs
  double mean = 0;                ///< of the slowest rank's iterations; the breakdown adds up to it
  double p50 = 0;                 ///< percentiles of all ranks' iterations, pooled
  double p75 = 0;
  double p90 = 0;
  double p95 = 0;
  double low = 0;  ///< bounds of the prediction of p50
  double high = 0;
  double throughput = 0;          ///< samples that were processed / their time
  double throughput_per_gpu = 0;  ///< of the above
  double tokens_per_s = 0;        ///< of all ranks; 0: samples are no text
  double flops_per_gpu = 0;       ///< the model's operations a second; 0: nobody counted them
  /// Of the GPU's peak: the model's operations alone (Chowdhery et al., PaLM, arXiv 2204.02311,
  /// appendix B; here with attention's as its kernels do them), and with those done again; 0:
  /// unknown.
  double mfu = 0;
  double hfu = 0;
  double single_gpu_throughput = 0;  ///< the profile's own iteration, without communication
  double scaling_efficiency = 0;     ///< throughput_per_gpu / single_gpu_throughput
};

/// REQUIRES: at least one measured iteration.
[[nodiscard]] Metrics metrics_of(const RunResult& result);

/// Reports tell tokens or operations a second, MFU and memory beside samples: of text, and of
/// images where the model was counted. Recordings keep the benchmark's own layout.
[[nodiscard]] bool shows_work(const RunResult& result);

/// Seconds of one part of the breakdown.
[[nodiscard]] double seconds_of(const RunResult& result, Part part);

}  // namespace gradwire
