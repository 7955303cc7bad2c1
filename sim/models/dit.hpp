#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Diffusion Transformers (Peebles and Xie, arXiv 2212.09748, tables 1 and 4) on latents of an
// eighth of the image's side, patches of 2, norms modulated by time and class (adaLN-Zero), as the
// authors' models.py builds them; attention in one kernel. The table of positions is fixed, no
// gradient flows to it. Options: image_size (256, a multiple of 16), classes (1000).
[[nodiscard]] ModelDescription dit_b_2(const ModelOptions& options);
[[nodiscard]] ModelDescription dit_xl_2(const ModelOptions& options);

}  // namespace gradwire
