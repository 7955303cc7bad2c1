#pragma once

#include <optional>

#include "sim/config/profile/analytic_key.hpp"
#include "sim/core/warning.hpp"

namespace gradwire::config {

/// "batch-norms-assumed" where TensorFlow runs batch norms in half precision, channels last, and
/// nobody stated `batchnorm_spatial_persistent`: its own default is off, and scripts of benchmarks
/// turn it on.
/// @param profile  what analytic_profile() makes of the job.
[[nodiscard]] std::optional<Warning> batch_norm_warning(const AnalyticJob& job,
                                                        const ComputeProfile& profile);

}  // namespace gradwire::config
