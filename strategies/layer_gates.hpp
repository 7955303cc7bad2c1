#pragma once

#include <vector>

#include "strategies/poster.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// What each layer's forward pass waits for, where that is its own parameters only.
class LayerGates {
 public:
  explicit LayerGates(const JobView& job);

  /// The next forward pass of the tensor's layer waits for `flag`.
  void wait_for(TensorId tensor, OperationId flag);

  /// Posts the layer's gate, when it has something to wait for.
  /// @return the share of the model's parameters that are behind it; 0: no gate.
  double post(int layer, Poster& poster);

 private:
  std::vector<std::vector<TensorId>> tensors_of_;  ///< by layer
  std::vector<OperationId> flag_of_;               ///< by tensor; -1: nothing to wait for
  std::vector<double> share_of_;                   ///< by tensor, of the model's parameters
};

}  // namespace gradwire
