#include "sim/models/fp8.hpp"

#include <utility>

#include "sim/core/block_names.hpp"

namespace gradwire {
namespace {

constexpr double half_bytes = 2;  ///< of an element beside the products
constexpr std::int64_t fp8_multiple = 16;

bool can_be_fp8(const ModelLayer& layer) {
  return layer.kind == "linear" && !layer.parameters.empty() && layer.product &&
         layer.product->weight_operand && layer.product->columns % fp8_multiple == 0 &&
         layer.product->depth % fp8_multiple == 0 && !layer.name.ends_with(".router") &&
         !block_of(layer.name, BlockNumbers::own_part).empty();
}

/// Reads two bytes and writes one twice, as it lies and transposed; tensorwise reads them once
/// more.
LayerWork cast_of(double elements, Fp8Recipe recipe) {
  const bool finds_largest = recipe == Fp8Recipe::tensorwise;
  const double bytes = half_bytes + 2 + (finds_largest ? half_bytes : 0);
  return {.elements = bytes / half_bytes * elements, .kernels = finds_largest ? 2 : 1};
}

ModelLayer cast_before(const ModelLayer& layer, Fp8Recipe recipe) {
  const MatrixShape& shape = *layer.product;
  const auto rows = static_cast<double>(shape.rows * shape.count);
  ModelLayer cast;
  cast.name = layer.name + ".cast";
  cast.kind = "other";
  cast.forward = cast_of(rows * static_cast<double>(shape.depth), recipe);
  cast.backward = cast_of(rows * static_cast<double>(shape.columns), recipe);
  return cast;
}

}  // namespace

ModelDescription in_fp8(ModelDescription model, Fp8Recipe recipe) {
  if (recipe == Fp8Recipe::none) return model;
  std::vector<ModelLayer> layers;
  for (ModelLayer& layer : model.layers) {
    layer.fp8 = can_be_fp8(layer);
    if (layer.fp8) layers.push_back(cast_before(layer, recipe));
    layers.push_back(std::move(layer));
  }
  model.layers = std::move(layers);
  return model;
}

double fp8_weights(const ModelDescription& model) {
  double weights = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.fp8) weights += static_cast<double>(layer.parameters.front().elements());
  }
  return weights;
}

}  // namespace gradwire
