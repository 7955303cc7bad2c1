#pragma once

#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace gradwire {

// ELECTRA's discriminator (Clark et al., arXiv 2003.10555, appendix A), BERT's encoder without
// pooler, as HuggingFace's modeling_electra.py builds it. Options: sequence_length (512, the most),
// vocabulary (30522), head: discrimination (was each token replaced; default), qa, none.
[[nodiscard]] ModelDescription electra_base(const ModelOptions& options);
[[nodiscard]] ModelDescription electra_large(const ModelOptions& options);

/// The values of `head`, the default first.
[[nodiscard]] const std::vector<std::string>& electra_heads();

}  // namespace gradwire
