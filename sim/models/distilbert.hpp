#pragma once

#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace gradwire {

// DistilBERT (Sanh et al., arXiv 1910.01108) as HuggingFace's transformers (modeling_distilbert.py)
// build it, with unfused attention: BERT's layers, half as many, without token types and pooler.
// Options: sequence_length (128, at most 512), vocabulary (30522), attention, head:
//   mlm             words over every position (DistilBertForMaskedLM), the decoder tied (default)
//   classification  a layer on the first token and two outputs (SST-2)
//   qa              a linear layer of 2 on every token (SQuAD)
//   none            the encoder
[[nodiscard]] ModelDescription distilbert_base(const ModelOptions& options);

/// The values of `head`, the default first.
[[nodiscard]] const std::vector<std::string>& distilbert_heads();

}  // namespace gradwire
