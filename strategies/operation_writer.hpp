#pragma once

#include <utility>

#include "strategies/operations.hpp"

namespace gradwire {

/// Collects the operations that a strategy answers to one event with, and numbers them over the
/// whole run, so that a later operation can name an earlier one.
class OperationWriter {
 public:
  OperationId post(Operation operation) {
    operations_.push_back(std::move(operation));
    return next_++;
  }
  /// What was posted since the last call.
  [[nodiscard]] Operations take() { return std::exchange(operations_, {}); }

 private:
  Operations operations_;
  OperationId next_ = 0;
};

}  // namespace gradwire
