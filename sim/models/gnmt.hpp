#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

/// GNMT v2 (after Wu et al., arXiv 1609.08144): four LSTM layers of 1024 units on each side, the
/// first bidirectional, normed additive attention behind the decoder's first, residuals from the
/// third on, as NVIDIA's DeepLearningExamples (PyTorch/Translation/GNMT) build it with one table
/// for both embeddings. Options: sequence_length (32 tokens of source and of target), vocabulary
/// (32320).
[[nodiscard]] ModelDescription gnmt(const ModelOptions& options);

}  // namespace gradwire
