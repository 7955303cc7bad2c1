#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace gradwire {

// BERT (Devlin et al., arXiv 1810.04805) as HuggingFace transformers 3.x (modeling_bert.py) builds
// it, in training, with unfused attention. Options: sequence_length (128, at most 512), vocabulary
// (30522), tied (true), head:
//   pretraining  both heads; the decoder runs over the masked positions only (default), as Google's
//                code and NVIDIA DeepLearningExamples do
//   pretraining_all_positions  both heads; the decoder runs over every position, as
//                BertForPreTraining of transformers does
//   mlm          the masked-language head alone, over every position (BertForMaskedLM)
//   classification  a linear layer on the pooled first token, `classes` (2) wide
//   qa           a linear layer of 2 on every token, without pooler (SQuAD)
//   none         encoder and pooler
[[nodiscard]] ModelDescription bert_base(const ModelOptions& options);
[[nodiscard]] ModelDescription bert_large(const ModelOptions& options);

/// The values of `head`, the default first.
[[nodiscard]] const std::vector<std::string>& bert_heads();

/// Positions whose word is predicted in pre-training: 20 of 128 (google-research/bert README,
/// max_predictions_per_seq), 76 of 512 (MLPerf training reference), else 15 % of them (Devlin et
/// al., section 3.1), rounded up.
[[nodiscard]] std::int64_t bert_predictions(std::int64_t sequence_length);

}  // namespace gradwire
