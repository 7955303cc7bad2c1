#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/models/model.hpp"

namespace gradwire {

/// Sizes of a transformer's equal blocks: BERT and its kin, GPT-2, encoders with decoders, vision
/// and diffusion transformers. Decoders of language models have a DecoderShape.
struct Widths {
  std::string name;  ///< of the model
  std::string source;
  int layers = 0;  ///< of the encoder, and as many of a decoder beside it
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t ffn = 0;  ///< of the feed-forward block
};

/// nullptr where the model has none.
[[nodiscard]] const Widths* find_widths(const std::string& model);

/// The model's, or what the options say in their place: `layers`, `hidden`, `heads`, `ffn` (beside
/// another `hidden` 4 times that). REQUIRES: find_widths(model).
[[nodiscard]] Widths widths_of(const std::string& model, const ModelOptions& options);

/// Heads that do not divide the features. REQUIRES: find_widths(model).
[[nodiscard]] std::optional<OptionProblem> problem_of_widths(const std::string& model,
                                                             const ModelOptions& options);

}  // namespace gradwire
