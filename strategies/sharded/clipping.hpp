#pragma once

#include "strategies/strategy.hpp"

namespace gradwire {

/// Where gradients are clipped by their norm, ranks that hold shards of them add up what each found
/// in an all-reduce of one number, and none updates before it has the sum: clip_grad_norm_ of
/// FullyShardedDataParallel and of DTensors, Megatron-LM's clip_grads.py, DeepSpeed's
/// scaled_global_norm. The norms themselves and the scaling are in the profile's optimizer.
/// @param out  a Poster or an OperationWriter
template <class Writer>
void add_norms(FamilyId communicator, Writer& out) {
  out.post(Gate{{out.post(Collective{.size = Bytes{gradient_element_size},
                                     .tensors = {},
                                     .label = "norm of gradients",
                                     .communicator = communicator})}});
}

}  // namespace gradwire
