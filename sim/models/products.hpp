#pragma once

#include <vector>

#include "sim/core/units.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

/// How a library may compute a layer's kernels in one direction for the whole batch: by its own
/// products, or those to which a convolution comes down. Backward has one for the gradient of the
/// input, where one flows, and one for that of the weights.
/// - Implicit GEMM (Chetlur et al., arXiv 1410.0759, section 3): a row an output position, a column
///   a channel.
/// - On fp32 units, a 3x3 convolution of stride 1 by Winograd's F(2x2) in one kernel, 16 products
///   over 2x2 outputs each, or F(4x4), 36 over 4x4 (Lavin and Gray, arXiv 1509.09308, sections 4.1
///   and 4.3), whose operands are written and read between three kernels (cuDNN's non-fused); both
///   gradients by the latter alone (so all 26 of ResNet-50 in the recording on a V100).
/// - Fused attention by tiles of 128 queries or keys (Dao, arXiv 2307.08691, section 3.3).
/// None where the shape is not known, or says nothing of the kernels: work counted by the user,
/// grouped convolutions (kernels of their own).
[[nodiscard]] std::vector<KernelPlan> plans_of(const ModelLayer& layer, int batch,
                                               Direction direction, bool matrix_units);

/// What the products take on `multiprocessors` that reach `rate` (FLOP/s) together on large ones.
/// Lost beside: tiles over the edge, multiprocessors without one in the last wave, smaller tiles,
/// which load more for each multiplication, and filling and draining each tile's pipeline. The best
/// of the tiles and splits of the depth that libraries offer (NVIDIA, Matrix Multiplication
/// Background User's Guide, sections 2 to 4). REQUIRES: multiprocessors >= 1, rate > 0.
[[nodiscard]] Seconds products_time(const std::vector<MatrixShape>& products, int multiprocessors,
                                    bool matrix_units, double rate, const KernelConstants& kernels);

/// The same of fused attention, whose blocks run in waves. REQUIRES: as products_time().
[[nodiscard]] Seconds attention_time(const AttentionTiles& tiles, int multiprocessors, double rate,
                                     const KernelConstants& kernels);

}  // namespace gradwire
