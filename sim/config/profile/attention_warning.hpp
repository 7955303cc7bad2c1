#pragma once

#include <optional>

#include "sim/config/profile/analytic_key.hpp"
#include "sim/core/warning.hpp"

namespace gradwire::config {

/// "attention-assumed" where PyTorch runs a language model whose attention nobody stated: shipped
/// are the networks of the publications that are held against measurements, with scores in memory;
/// scaled_dot_product_attention came with PyTorch 2.0, nanoGPT takes it wherever there is one, and
/// transformers by default: BERT's since 4.41 (huggingface/transformers#28802), GPT-2's since 4.42
/// (#31172).
/// @param fused    the model with attention in one kernel; nullopt: it is as stated.
/// @param profile  what analytic_profile() makes of the job.
[[nodiscard]] std::optional<Warning> attention_warning(const AnalyticJob& job,
                                                       const std::optional<ModelDescription>& fused,
                                                       const ComputeProfile& profile);

}  // namespace gradwire::config
