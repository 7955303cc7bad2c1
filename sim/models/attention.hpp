#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// What keeps tokens from seeing some of the others.
enum class Mask : std::uint8_t {
  none,
  added,     ///< a mask is added to the scores
  selected,  ///< torch.where picks the scores or a constant
};

/// The part of multi-head attention between its projections, for one sample.
struct AttentionShape {
  std::int64_t heads = 0;
  Mask mask = Mask::added;
  bool weight_dropout = true;  ///< of the weights after the softmax
  bool scaled = true;          ///< the scores, by 1 / sqrt(depth)
  /// Something with a gradient that is added to the scores in place of the mask.
  std::optional<Activation> bias = {};
  bool bias_then_mask = false;  ///< the bias holds no mask: that is added to it
  /// A bias of every head and pair of places, looked up in this table and added to the scores
  /// before the mask; the samples and their windows share it.
  std::optional<ParameterSpec> table = {};
  std::int64_t windows = 1;  ///< into which the tokens are cut; each sees those of its own alone
};

/// softmax(q k^T / sqrt(depth) + mask) v, unfused: two batched products, the scaling and masking of
/// the scores, softmax, dropout, and the copy that puts the heads side by side again. As eager
/// PyTorch runs it; a fused kernel (scaled_dot_product_attention) does not move the scores.
[[nodiscard]] Activation attend(ModelBuilder& net, const std::string& name, const Activation& query,
                                const Activation& key, const Activation& value,
                                const AttentionShape& shape);

/// The part of grouped attention between its projections, for one sample.
/// The same in one kernel each way, which keeps the scores on the chip (FlashAttention-2; Dao,
/// arXiv 2307.08691, sections 2.2 and 3.1): two products forward; five backward, since the scores
/// are computed again. With `causal` the blocks above the diagonal are left out: half of all.
/// Queries, keys, values and the result move once forward; those, their gradients and the result's
/// backward, which has a kernel before (row sums) and one behind (the gradient of the queries).
/// What `shape` says of queries and keys is set here.
[[nodiscard]] Activation flash_attend(ModelBuilder& net, const std::string& name,
                                      const Activation& query, const Activation& key,
                                      const Activation& value, FusedAttention shape);

}  // namespace gradwire
