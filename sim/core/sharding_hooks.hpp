#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// What the Python of sharded training takes of the thread that launches kernels, beside them:
/// hooks around modules, views of flat parameters, storage that is given back. Read from
/// profiles/libraries/sharding_hooks.yaml, with its sources.
struct ShardingHooks {
  Seconds unit;         ///< of an FSDP unit, in forward and again in backward
  Seconds unit_tensor;  ///< and of each tensor in it
  /// Of a tensor that DeepSpeed's ZeRO-1 and ZeRO-2 reduce, and again in the optimizer's step of
  /// each in a rank's partition.
  Seconds zero2_tensor;
  Seconds zero3_tensor;  ///< of a tensor that its ZeRO-3 fetches, in each direction
};

}  // namespace gradwire
