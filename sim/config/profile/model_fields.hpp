#pragma once

#include "sim/config/yaml/fields.hpp"
#include "sim/models/model.hpp"

namespace gradwire::config {

// Bounds that keep every product of sizes within 64 bits; no model comes near.
inline constexpr int image_size_max = 16'384;
inline constexpr int count_max = 1'000'000;
inline constexpr int layers_max = 1'000;
inline constexpr int width_max = 200'000;
inline constexpr int experts_max = 4'096;
inline constexpr int groups_max = 1'024;
inline constexpr int group_width_max = 4'096;

/// The keys of `experts`.
[[nodiscard]] const Fields<ExpertShape>& expert_fields();

/// The options that may stand beside `model:`; each model has some of them.
[[nodiscard]] const Fields<ModelOptions>& model_fields();

}  // namespace gradwire::config
