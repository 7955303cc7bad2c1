#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// What TensorFlow's graph without XLA makes of layers for which it has no kernel, as
// google-research's bert/modeling.py writes them. `n`: elements of the layer's tensor; a kernel
// reads and writes each once. Backward: the gradients that the graph has for these operators, a sum
// for each tensor that several read; what is constant has none. By what is dropped or folded for
// nothing (a product by 1) they are not more.

/// tf.contrib.layers.layer_norm (TensorFlow 1). Forward: mean (1), squared difference (2), mean
/// (1), the scale over the deviation (1), its products with input (3) and mean (2), offset less
/// that (2), sum (3).
[[nodiscard]] PassWork primitive_layer_norm(double n);

/// 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) x: six kernels of 2, a sum and a product of 3.
[[nodiscard]] PassWork primitive_gelu(double n);

/// tf.nn.softmax: the largest, the sum, the quotient; backward g y, its sum, the difference, its
/// product.
[[nodiscard]] PassWork primitive_softmax(double n);

/// tf.nn.dropout: random numbers (1), shifted (2), rounded (2), the input scaled (2), the product
/// (3); backward product and scale, where a gradient flows `to_input`.
[[nodiscard]] PassWork primitive_dropout(double n, bool to_input);

/// The linear layer `product` whose bias BiasAdd adds to its `n` results, apart from MatMul.
[[nodiscard]] PassWork primitive_bias(const ModelLayer& product, double n);

/// Three transposes to heads and one back, each way.
[[nodiscard]] PassWork primitive_heads(double n);

/// The model as such a graph runs it.
[[nodiscard]] ModelDescription by_primitives(ModelDescription model);

}  // namespace gradwire
