#pragma once

#include <string>
#include <utility>

#include "sim/config/collective/host_library_constants_yaml.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"

namespace gradwire::test {

/// With the shipped constants.
inline GlooOptions gloo_options(bool tensors_on_gpu = true) {
  return {.constants = config::shipped_gloo(),
          .sum_rate = config::shipped_cpu().sum_rate,
          .tensors_on_gpu = tensors_on_gpu};
}
inline MpiOptions mpi_options(std::string algorithm = "") {
  MpiOptions options;
  options.constants = config::shipped_mpi();
  options.cpu = config::shipped_cpu();
  options.all_reduce_algorithm = std::move(algorithm);
  return options;
}

}  // namespace gradwire::test
