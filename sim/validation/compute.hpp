#pragma once

#include <memory>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// What analytic profiles are calibrated on, fitted again each time, and how far they carry
/// (results/reference/compute.yaml): the classes of the recordings' layers; factors on tables that
/// no recording stands for; each model and each GPU predicted by a fit without it; and published
/// rates that nothing is fitted to.
[[nodiscard]] std::unique_ptr<Series> open_compute();

}  // namespace gradwire::validation
