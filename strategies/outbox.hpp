#pragma once

#include <utility>

#include "strategies/operations.hpp"

namespace gradwire {

/// Collects what a strategy posts in answer to an event and numbers it: ids count every operation
/// of every kind from 0, over the whole run.
class Outbox {
 public:
  /// @return the id of the operation.
  OperationId post(Operation operation);
  /// What was posted since the last call, in order.
  [[nodiscard]] Operations take() { return std::exchange(pending_, {}); }

 private:
  Operations pending_;
  OperationId posted_ = 0;
};

}  // namespace gradwire
