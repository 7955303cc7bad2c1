#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// BART (Lewis et al., arXiv 1910.13461, section 2) as HuggingFace's modeling_bart.py builds
// BartForConditionalGeneration, in training, with unfused attention; all tables of words are one.
// Options: sequence_length (512 tokens of source and of target, at most 1024; of pre-training, as
// RoBERTa's), vocabulary (50265).
[[nodiscard]] ModelDescription bart_base(const ModelOptions& options);
[[nodiscard]] ModelDescription bart_large(const ModelOptions& options);

}  // namespace gradwire
