#include "sim/config/profile/attention_warning.hpp"

#include <fmt/format.h>

#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/frameworks.hpp"

namespace gradwire::config {

std::optional<Warning> attention_warning(const AnalyticJob& job,
                                         const std::optional<ModelDescription>& fused,
                                         const ComputeProfile& profile) {
  const Framework& framework = *shipped_hosts().find_framework(job.options.framework);
  if (!fused || !has_optimizer_steps(framework)) return std::nullopt;
  const ComputeProfile other =
      analytic_profile(shipped_hosts(), *fused, job.gpu, job.batch, job.dtype, job.options);
  return Warning{
      "attention-assumed",
      fmt::format("{} is taken to keep the scores of attention in memory, {:.3g} ms an iteration; "
                  "where scaled_dot_product_attention runs it, as in nanoGPT and by default in "
                  "recent transformers, it takes {:.3g}: state 'attention', flash or eager",
                  profile.model, 1e3 * profile.iteration.count(), 1e3 * other.iteration.count())};
}

}  // namespace gradwire::config
