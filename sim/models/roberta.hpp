#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// RoBERTa in pre-training (Liu et al., arXiv 1907.11692): BERT's encoder with other tables and one
// head over every position, as HuggingFace's RobertaForMaskedLM. Options: sequence_length (512, the
// most), vocabulary (50265).
[[nodiscard]] ModelDescription roberta_base(const ModelOptions& options);
[[nodiscard]] ModelDescription roberta_large(const ModelOptions& options);

}  // namespace gradwire
