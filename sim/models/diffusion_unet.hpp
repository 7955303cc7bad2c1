#pragma once

#include <optional>

#include "sim/models/decoder.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

/// The denoising U-Net of Stable Diffusion 1.x (Rombach et al., arXiv 2112.10752; its v1-inference
/// settings) as diffusers' UNet2DConditionModel builds it: latents of an eighth of the image's
/// side, 77 tokens of text 768 wide, attention in one kernel. Options: image_size (512, a multiple
/// of 64).
[[nodiscard]] ModelDescription sd_unet(const ModelOptions& options);

/// Why the image's size cannot be halved as often as the U-Net does; empty: it can.
[[nodiscard]] std::optional<OptionProblem> sd_unet_problem(const ModelOptions& options);

}  // namespace gradwire
