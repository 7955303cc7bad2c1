#pragma once

#include <string>
#include <vector>

#include "sim/config/profile/model_catalogue.hpp"

namespace gradwire::config {

using Parameters = std::vector<KeyInfo>;  ///< a model's options

/// `parameters` and the key `head`, whose values `heads` are, the default first.
[[nodiscard]] Parameters with_heads(Parameters parameters, const std::vector<std::string>& heads,
                                    const std::string& source);

/// Networks with code of their own, a line a model: what takes images, and what takes text or
/// speech.
[[nodiscard]] std::vector<ModelEntry> image_models();
[[nodiscard]] std::vector<ModelEntry> text_models();

}  // namespace gradwire::config
