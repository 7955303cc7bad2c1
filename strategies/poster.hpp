#pragma once

#include "strategies/operations.hpp"

namespace gradwire {

/// Collects the operations of a strategy and knows their numbers.
class Poster {
 public:
  /// @return the number that the operation will have.
  OperationId post(Operation operation);
  /// What was posted since the last call, to be returned from on_event.
  Operations take();

 private:
  Operations operations_;
  OperationId posted_ = 0;
};

}  // namespace gradwire
