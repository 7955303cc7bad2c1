#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gradwire {

/// What an optimizer's step costs the GPU.
struct OptimizerKind {
  std::string_view name;
  double bytes_per_parameter = 0;  ///< read and written by its kernels, fp32 state
  std::string_view source;
};

/// sgd, momentum, adam, adamw, lamb.
[[nodiscard]] std::span<const OptimizerKind> optimizers();
/// nullptr when there is no such optimizer.
[[nodiscard]] const OptimizerKind* find_optimizer(std::string_view name);

}  // namespace gradwire
