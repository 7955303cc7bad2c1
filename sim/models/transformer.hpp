#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Transformer, base and big model (Vaswani et al., arXiv 1706.03762, table 3) for WMT 2014
// English-German, as fairseq (transformer_wmt_en_de, _big) builds it: norm after the residual,
// sinusoidal positions. Options: vocabulary (37000, shared by both languages), sequence_length (32
// tokens of source and of target), tied (true: both embeddings and the output projection share one
// table, section 3.4).
[[nodiscard]] ModelDescription transformer_wmt(const ModelOptions& options);
[[nodiscard]] ModelDescription transformer_big(const ModelOptions& options);

}  // namespace gradwire
