#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// T5 (Raffel et al., arXiv 1910.10683, sections 2.1 and 3.1) as HuggingFace's modeling_t5.py builds
// T5ForConditionalGeneration of the first checkpoints: ReLU, RMS norms before each part, no biases,
// positions as biases of the scores, unfused attention; all tables of words are one. Options:
// sequence_length (512 tokens of source; the target has 114 in 512, as the masked spans of
// pre-training), vocabulary (32128).
[[nodiscard]] ModelDescription t5_small(const ModelOptions& options);
[[nodiscard]] ModelDescription t5_base(const ModelOptions& options);
[[nodiscard]] ModelDescription t5_large(const ModelOptions& options);

}  // namespace gradwire
