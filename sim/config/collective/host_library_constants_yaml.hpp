#pragma once

#include "sim/config/collective/constants_yaml.hpp"
#include "sim/cost/gloo.hpp"
#include "sim/cost/mpi.hpp"

namespace gradwire::config {

/// Of profiles/libraries/mpi.yaml and gloo.yaml. @throws ConfigError at the place in the file.
[[nodiscard]] MpiConstants shipped_mpi();
[[nodiscard]] GlooConstants shipped_gloo();

/// Readers of the sets "mpi" and "gloo".
void read_mpi_constants(Constants& from, MpiConstants& to);
void read_gloo_constants(Constants& from, GlooConstants& to);

}  // namespace gradwire::config
