#pragma once

#include <string_view>

#include "sim/models/model.hpp"

namespace gradwire {

/// Bytes that training keeps on a GPU, roughly and rather too few: weights, gradients and one
/// moment of the optimizer in fp32, and for backward what layers with weights, norms and softmax
/// have read: half of what they read and write. Without workspace and fragmentation. `dtype` as in
/// analytic_profile. REQUIRES: batch >= 1.
[[nodiscard]] double training_memory(const ModelDescription& model, int batch,
                                     std::string_view dtype);

}  // namespace gradwire
