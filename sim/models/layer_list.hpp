#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/builder.hpp"

namespace gradwire {

/// One layer of a user's own model, as a file gives it. Which members count depends on `kind`:
///   conv           out, kernel, stride, padding or output, groups, bias
///   max_pool, average_pool  kernel, stride, padding or output, ceil
///   adaptive_pool  size
///   linear         out, bias, or tied_to: the embedding whose table is its weight
///   embedding      rows, out
///   product        product: an activation times an activation
///   attention      heads, of the queries: inputs are queries, keys and values; these may have
///   fewer batch_norm, layer_norm, act, softmax, dropout, add, concat, flatten   nothing raw
///   work_kind, forward, backward, parameters, output
struct LayerSpec {
  std::string name;
  std::string kind;
  /// Names of earlier layers that it reads; with neither inputs nor input_shape: the layer before.
  std::vector<std::string> inputs;
  /// What it reads, of one sample, when no layer is named: [channels, height, width],
  /// [tokens, features] or [features].
  std::vector<std::int64_t> input_shape;
  std::vector<std::int64_t> output_shape;
  std::int64_t out = 0;
  Window kernel;
  std::optional<std::int64_t> stride;  ///< default 1; of a pooling: the kernel's height
  std::optional<Window> padding;
  std::int64_t groups = 1;
  bool bias = true;
  bool ceil = false;
  std::int64_t size = 1;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::string tied_to;
  MatrixShape product;
  std::string work_kind;  ///< one of ComputeProfile's kinds
  LayerWork forward;
  LayerWork backward;
  std::vector<ParameterSpec> parameters;
};

/// The kinds that a LayerSpec may have.
[[nodiscard]] const std::vector<std::string>& layer_spec_kinds();

/// A list of layers that makes no network.
class LayerListError : public std::runtime_error {
 public:
  /// @param layer  index into the list.  @param key  the member that is wrong.
  LayerListError(std::size_t layer, std::string key, const std::string& message)
      : std::runtime_error(message), layer_(layer), key_(std::move(key)) {}

  [[nodiscard]] std::size_t layer() const { return layer_; }
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::size_t layer_;
  std::string key_;
};

/// The layers in the order given as a network, with work and gradient order by ModelBuilder's
/// rules. @param input  shape of one sample; one number is a count of tokens where an embedding
/// reads it.
/// @throws LayerListError when a name is unknown or stands twice, or a shape does not fit.
[[nodiscard]] ModelDescription build_layers(const std::string& name, const std::string& source,
                                            const std::vector<std::int64_t>& input,
                                            const std::vector<LayerSpec>& layers);

}  // namespace gradwire
