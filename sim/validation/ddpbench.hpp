#pragma once

#include <memory>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// Holds scenarios/pytorch_ddp_v100.yaml against PyTorch's DDP benchmark
/// (results/reference/ddpbench.yaml): fits the wrapper's kernel overhead to the 1-GPU rows and the
/// slowdown under communication to the 2-GPU rows, and predicts 4, 8 and 16 GPUs. The constants in
/// the scenario are to be those of the fit.
[[nodiscard]] std::unique_ptr<Series> open_ddpbench(const Predict& predict);

}  // namespace gradwire::validation
