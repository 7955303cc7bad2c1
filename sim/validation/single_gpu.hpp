#pragma once

#include <memory>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// Analytic profiles against published rates of one GPU (results/reference/single_gpu.yaml).
[[nodiscard]] std::unique_ptr<Series> open_single_gpu();

}  // namespace gradwire::validation
