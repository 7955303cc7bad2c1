#pragma once

#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// What keeps tokens from seeing some of the others.
enum class Mask : std::uint8_t {
  added,     ///< a mask is added to the scores
  selected,  ///< torch.where picks the scores or a constant
};

/// The part of multi-head attention between its projections, for one sample.
struct AttentionShape {
  std::int64_t heads = 0;
  Mask mask = Mask::added;
  bool weight_dropout = true;  ///< of the weights after the softmax
};

/// softmax(q k^T / sqrt(depth) + mask) v, unfused: two batched products, the scaling and masking of
/// the scores, softmax, dropout, and the copy that puts the heads side by side again. As eager
/// PyTorch runs it; a fused kernel (scaled_dot_product_attention) does not move the scores.
[[nodiscard]] Activation attend(ModelBuilder& net, const std::string& name, const Activation& query,
                                const Activation& key, const Activation& value,
                                const AttentionShape& shape);

}  // namespace gradwire
