#pragma once

#include <vector>

#include "strategies/parts/poster.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// What each layer's forward pass waits for, where that is its own parameters only.
class LayerGates {
 public:
  explicit LayerGates(const JobView& job);

  /// The next forward pass of the tensor's layer waits for `flag`.
  void wait_for(TensorId tensor, OperationId flag);

  /// Posts the layer's gate, when it has something to wait for, and behind it the step of the
  /// worker's optimizer for these parameters.
  ///
  /// Also where servers run the optimizer: a profile's step has in it what any worker does between
  /// backward and forward, and no published run with servers is faster than its GPUs alone; how
  /// much of it servers take off is not known. Assumed: nothing.
  void post(int layer, Poster& poster);

 private:
  std::vector<std::vector<TensorId>> tensors_of_;  ///< by layer
  std::vector<OperationId> flag_of_;               ///< by tensor; -1: nothing to wait for
  std::vector<double> share_of_;                   ///< by tensor, of the model's parameters
};

}  // namespace gradwire
