#pragma once

#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// Lets tensors go in the order of their names: one goes when it is ready and all before it went.
/// Source: lsds/KungFu, the order group of sync-sgd-nccl (python ops/collective.py:100-137).
class NameOrder {
 public:
  explicit NameOrder(const std::vector<TensorInfo>& tensors);

  /// Begins a new round: nothing is ready.
  void reset();
  /// @return the tensors that go now that `tensor` is ready.
  std::vector<TensorId> ready(TensorId tensor);
  [[nodiscard]] const std::vector<TensorId>& order() const { return order_; }

 private:
  std::vector<TensorId> order_;
  std::vector<bool> ready_;  ///< by tensor
  std::size_t next_ = 0;
};

}  // namespace gradwire
