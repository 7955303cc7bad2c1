#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/widths.hpp"

namespace gradwire {

/// An encoder of BERT's kind.
struct BertShape {
  Widths widths;
  std::string prefix = "bert";  ///< of its tensors' names
  std::int64_t positions = bert_positions;
  std::int64_t token_types = 2;
};

/// Embeddings of words, positions and token types, and the layers (Devlin et al., arXiv 1810.04805,
/// section 3), tensors named as HuggingFace's transformers 3.x do.
/// @param attention  `flash`, else unfused.
[[nodiscard]] Activation bert_encoder(ModelBuilder& net, const Activation& tokens,
                                      const BertShape& network, std::int64_t vocabulary,
                                      const std::optional<std::string>& attention);

}  // namespace gradwire
