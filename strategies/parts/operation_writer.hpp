#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "strategies/operations.hpp"

namespace gradwire {

/// Collects the operations that a strategy answers to one event with, and numbers them over the
/// whole run, so that a later operation can name an earlier one.
class OperationWriter {
 public:
  /// @return the id of the operation.
  OperationId post(Operation&& operation) {
    if (operations_.empty()) operations_.reserve(few);
    operations_.push_back(std::move(operation));
    return next_++;
  }
  /// What was posted since the last call, in order.
  [[nodiscard]] Operations take() { return std::exchange(operations_, {}); }

 private:
  static constexpr std::size_t few = 4;  ///< most events are answered with no more

  Operations operations_;
  OperationId next_ = 0;
};

/// Device work without kernels that ends, and tells so, when everything launched so far on the
/// compute stream has run on every rank.
[[nodiscard]] inline DeviceWork launch_marker(std::string label, WorkerId worker = 0) {
  return {.kernels = 0, .label = std::move(label), .notify = true, .worker = worker};
}

}  // namespace gradwire
