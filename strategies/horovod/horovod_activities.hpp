#pragma once

#include <string>

#include "strategies/horovod/horovod_negotiation.hpp"

namespace gradwire {

/// What Horovod's timeline calls negotiating one: "NEGOTIATE_ALLREDUCE".
[[nodiscard]] std::string negotiation_of(RequestKind kind);

/// What Horovod's timeline calls a stage of a response: "NCCL_ALLREDUCE"; "" for what it does not
/// name (scaling the buffer).
/// @param on_gpu  collectives are NCCL's, else MPI's.
/// Source: Horovod common/common.h, activity names; docs/timeline.rst.
[[nodiscard]] std::string activity_of(const Operation& stage, bool on_gpu);

}  // namespace gradwire
