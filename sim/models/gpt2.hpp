#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// GPT-2 (Radford et al. 2019) as HuggingFace transformers (modeling_gpt2.py, GPT2LMHeadModel)
// builds it, in training, with unfused attention. Options: sequence_length (1024, at most that),
// vocabulary (50257), tied (true: the head uses the table of the word embedding).
[[nodiscard]] ModelDescription gpt2(const ModelOptions& options);
[[nodiscard]] ModelDescription gpt2_medium(const ModelOptions& options);
[[nodiscard]] ModelDescription gpt2_large(const ModelOptions& options);
[[nodiscard]] ModelDescription gpt2_xl(const ModelOptions& options);

}  // namespace gradwire
