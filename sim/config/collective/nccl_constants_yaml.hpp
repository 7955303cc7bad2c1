#pragma once

#include "sim/config/collective/constants_yaml.hpp"
#include "sim/cost/nccl_constants.hpp"

namespace gradwire::config {

/// The constants of a release of NCCL, of the generations of GPUs named and of all releases.
/// @param capabilities  compute capabilities x 10 of the GPUs that it runs on.
/// @throws ConfigError at the place in a file.
[[nodiscard]] NcclConstants shipped_nccl(NcclVersion version,
                                         const std::vector<int>& capabilities = {0, 80, 90, 100});

/// Readers of the sets "nccl_release", "nccl" and "nccl_generation".
void read_nccl_release(Constants& from, NcclConstants& to);
void read_nccl_measured(Constants& from, NcclConstants& to);
void read_nccl_generation(Constants& from, NcclGeneration& to);

}  // namespace gradwire::config
