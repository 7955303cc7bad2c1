#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// The language model LSTM-2048-512 on the One Billion Word benchmark (Jozefowicz et al., arXiv
// 1602.02410, table 1), one layer with a projection and a sampled softmax, as TensorFlow benchmarks
// of parameter servers train it (rafaljozefowicz/lm; Parallax, examples/lm1b). The gradients of
// both tables are dense here, as with nn.Embedding or Horovod's sparse_as_dense: exchanging few of
// their rows is not modelled. Options: sequence_length (20), vocabulary (793470).
[[nodiscard]] ModelDescription lm_1b(const ModelOptions& options);

}  // namespace gradwire
