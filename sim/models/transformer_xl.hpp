#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Transformer-XL (Dai et al., arXiv 1901.02860) on WikiText-103, base and large, as NVIDIA's
// DeepLearningExamples (PyTorch/LanguageModeling/Transformer-XL/pytorch: mem_transformer.py,
// wt103_base.yaml, wt103_large.yaml) train it: as many remembered tokens as new ones, an adaptive
// softmax whose tables are the embedding's. Option: sequence_length (192 and 384).
[[nodiscard]] ModelDescription transformer_xl_base(const ModelOptions& options);
[[nodiscard]] ModelDescription transformer_xl_large(const ModelOptions& options);

}  // namespace gradwire
