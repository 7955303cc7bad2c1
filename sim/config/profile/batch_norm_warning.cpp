#include "sim/config/profile/batch_norm_warning.hpp"

#include <fmt/format.h>

#include "sim/config/profile/hosts_yaml.hpp"

namespace gradwire::config {

std::optional<Warning> batch_norm_warning(const AnalyticJob& job, const ComputeProfile& profile) {
  if (job.options.framework != "tf" || job.options.persistent_norms) return std::nullopt;
  AnalyticOptions plain = job.options;
  plain.persistent_norms = false;
  const ComputeProfile other =
      analytic_profile(shipped_hosts(), job.model, job.gpu, job.batch, job.dtype, plain);
  if (other.iteration == profile.iteration) return std::nullopt;
  return Warning{
      "batch-norms-assumed",
      fmt::format("{} is taken to run with TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT=1, {:.3g} ms "
                  "an iteration, as scripts of benchmarks do; without, TensorFlow's default, it "
                  "takes {:.3g}: state 'batchnorm_spatial_persistent', true or false",
                  profile.model, 1e3 * profile.iteration.count(), 1e3 * other.iteration.count())};
}

}  // namespace gradwire::config
