#pragma once

#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

struct LstmShape {
  std::int64_t hidden = 0;
  bool bidirectional = false;  ///< a second one from the end, whose outputs stand beside
  /// Width of what comes back to the next step; 0: `hidden`. A projection to it is the caller's.
  std::int64_t recurrent = 0;
  bool joined = false;  ///< one weight W [inputs, gates] and one bias B, as TensorFlow's cells have
};

/// One LSTM layer over all tokens. A step multiplies [x, h] with both weights, then the gates make
/// the new cell and output: two kernels forward, three backward (assumed: a cuDNN that fuses no
/// further). The gradients end with the last step, in the order that Espresso's list has. Tensors
/// are named as nn.LSTM's.
[[nodiscard]] Activation lstm_layer(ModelBuilder& net, const std::string& name,
                                    const Activation& input, const LstmShape& shape);

}  // namespace gradwire
