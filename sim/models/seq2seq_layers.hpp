#pragma once

#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// Widths of a Transformer of encoder and decoder.
struct Seq2SeqShape {
  std::int64_t hidden = 0;
  std::int64_t inner = 0;  ///< of the feed-forward block
  std::int64_t heads = 0;
  bool flash = false;  ///< attention in one kernel
};

// A layer of the encoder and one of the decoder (Vaswani et al., arXiv 1706.03762, section 3.1),
// norm after the residual, tensors named as fairseq and HuggingFace's BART do.
[[nodiscard]] Activation encoder_layer(ModelBuilder& net, const std::string& name,
                                       const Activation& input, const Seq2SeqShape& shape);
/// @param memory  what the encoder made.
[[nodiscard]] Activation decoder_layer(ModelBuilder& net, const std::string& name,
                                       const Activation& input, const Activation& memory,
                                       const Seq2SeqShape& shape);

}  // namespace gradwire
