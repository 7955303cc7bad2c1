#pragma once

#include "strategies/compression/compressor.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/release.hpp"

namespace gradwire {

/// torch.topk of the `kept` largest of `elements` numbers on a GPU, by the code of a PyTorch
/// release; linear in the elements.
///
/// Before 1.11: radix selection by one thread block, whatever the size, so that one multiprocessor
/// reads everything several times. 1.11: a sort of all, where that is faster (pull request 68632).
/// From 1.12 on (71081, 74267): many blocks count the four digits of 8 bits one after the other and
/// gather what is large enough: five readings; then the kept ones are sorted with their indexes.
[[nodiscard]] CodecWork top_k(std::int64_t elements, std::int64_t kept, Release pytorch);

/// The knob `pytorch`: the release whose torch.topk selects.
[[nodiscard]] Release read_pytorch(Knobs& knobs);

}  // namespace gradwire
