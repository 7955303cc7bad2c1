#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

/// nn.MultiheadAttention, as `attention` of a vision transformer names it.
inline constexpr const char* multihead_attention = "multihead";

// Vision Transformers (Dosovitskiy et al., arXiv 2010.11929, table 1) as torchvision builds them:
// patches by a convolution, a class token, learned positions, norm before attention and block, one
// projection for queries, keys and values, attention in one kernel (scaled_dot_product_attention)
// with the copies of nn.MultiheadAttention around it unless `attention` is flash, as timm's have
// it. The small one is Touvron et al.'s (arXiv 2012.12877, table 1), and timm's. Options:
// image_size (224; a multiple of the patch), classes (1000).
[[nodiscard]] ModelDescription vit_s_16(const ModelOptions& options);
[[nodiscard]] ModelDescription vit_b_16(const ModelOptions& options);
[[nodiscard]] ModelDescription vit_l_16(const ModelOptions& options);
[[nodiscard]] ModelDescription vit_h_14(const ModelOptions& options);

}  // namespace gradwire
