#include "sim/config/profile/precision_warnings.hpp"

#include <fmt/format.h>

#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/frameworks.hpp"

namespace gradwire::config {
namespace {

constexpr double slower_told = 0.02;  ///< of the iteration: less is not worth a line

/// What the thread that launches takes for an iteration.
Seconds launches(const ComputeProfile& profile) {
  Seconds sum = profile.launch_of_optimizer();
  for (const LayerProfile& layer : profile.layers) {
    const LaunchTimes times = profile.launches_of(layer);
    sum += times.forward + times.backward;
  }
  return sum;
}

double ms(Seconds time) {
  return 1e3 * time.count();
}

/// What shortens an iteration that the host binds, or the GPU.
const char* way_out(const AnalyticJob& job, bool by_host) {
  const Framework& framework = *shipped_hosts().find_framework(job.options.framework);
  if (by_host) {
    return compiles(framework) ? "; a larger batch hides that"
                               : "; a larger batch or torch.compile hides that";
  }
  const bool by_norms =
      native_norms(job.model, framework, job.dtype) && !job.options.channels_last.value_or(false);
  return by_norms ? "; batch norms in bf16 are PyTorch's own kernels, which 'memory_format: "
                    "channels_last' or fp16 makes faster"
                  : "";
}

}  // namespace

std::optional<Warning> fp32_warning(const GpuSpec& gpu, const std::string& dtype) {
  if (dtype != "fp32" || !gpu.peak_flops.contains("tf32")) return std::nullopt;
  return Warning{"fp32-without-tf32",
                 fmt::format("fp32 is counted as on the fp32 units of {}; unless told otherwise "
                             "PyTorch takes TF32 for convolutions, before 1.12 for products too, "
                             "and TensorFlow from 2.4 for both: 'dtype: tf32'",
                             gpu.name)};
}

std::optional<Warning> half_precision_warning(const AnalyticJob& job,
                                              const ComputeProfile& profile) {
  const bool half = activation_bytes(job.dtype) < activation_bytes("fp32");
  if (!half || !profile.master_weights || profile.fp8) return std::nullopt;
  const std::string wide = job.gpu.peak_flops.contains("tf32") ? "tf32" : "fp32";
  if (!job.gpu.efficiency.contains(wide)) return std::nullopt;
  AnalyticOptions options = job.options;
  options.grad_scaler = false;  // of fp16 alone
  const ComputeProfile other =
      analytic_profile(shipped_hosts(), job.model, job.gpu, job.batch, wide, options);
  if (profile.iteration <= (1 + slower_told) * other.iteration) return std::nullopt;
  const bool by_host = profile.gpu_busy < launches(profile);
  const Seconds here = by_host ? launches(profile) : profile.gpu_busy;
  const Seconds there = by_host ? launches(other) : other.gpu_busy;
  return Warning{
      "half-precision-slower",
      fmt::format(
          "mixed precision in {} takes {:.3g} ms here, {} {:.3g}: {} takes {:.3g} ms for "
          "an iteration, {:.3g} in {}{}",
          job.dtype, ms(profile.iteration), wide, ms(other.iteration),
          by_host ? "the thread that launches kernels, and the casts among them," : "the GPU",
          ms(here), ms(there), wide, way_out(job, by_host))};
}

}  // namespace gradwire::config
