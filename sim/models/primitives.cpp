#include "sim/models/primitives.hpp"

namespace gradwire {

PassWork primitive_layer_norm(double n) {
  // Backward, by node: sum 0; difference 2 and the offset's gradient 1; product with mean 3 + 1 and
  // 2; product with input 3 and 3, their sum 3; scale 2 + 1 and its gradient 2 + 1; variance 1;
  // squared difference 2 + 2 + 3; mean 1; sum of three 4.
  return {.forward = {.elements = 15 * n, .kernels = 8},
          .backward = {.elements = 37 * n, .kernels = 19}};
}

PassWork primitive_gelu(double n) {
  // Backward: product 3 and 3, half 2, tanh 3, factor 2, factor 2, power 2 + 2 + 3, sum of three 4.
  return {.forward = {.elements = 18 * n, .kernels = 8},
          .backward = {.elements = 26 * n, .kernels = 10}};
}

PassWork primitive_softmax(double n) {
  return {.forward = {.elements = 4 * n, .kernels = 3},
          .backward = {.elements = 9 * n, .kernels = 4}};
}

PassWork primitive_dropout(double n, bool to_input) {
  PassWork work = {.forward = {.elements = 10 * n, .kernels = 5}, .backward = {.kernels = 0}};
  if (to_input) work.backward = {.elements = 5 * n, .kernels = 2};
  return work;
}

PassWork primitive_bias(const ModelLayer& product, double n) {
  PassWork work = {.forward = product.forward, .backward = product.backward};
  work.forward.elements += 2 * n;
  ++work.forward.kernels;
  return work;
}

PassWork primitive_heads(double n) {
  return {.forward = {.elements = 8 * n, .kernels = 4},
          .backward = {.elements = 8 * n, .kernels = 4}};
}

ModelDescription by_primitives(ModelDescription model) {
  for (ModelLayer& layer : model.layers) {
    if (!layer.primitive) continue;
    layer.forward = layer.primitive->forward;
    layer.backward = layer.primitive->backward;
  }
  return model;
}

}  // namespace gradwire
