#pragma once

#include <string_view>

#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// As NCCL_ALGO and NCCL_PROTO name them (v2.28.9, src/graph/tuning.cc, ncclAlgoStr, ncclProtoStr).
[[nodiscard]] std::string_view variable_of(NcclAlgorithm algorithm);
[[nodiscard]] std::string_view variable_of(NcclProtocol protocol);

/// What keeps NCCL from an algorithm where it does the kind.
[[nodiscard]] std::string_view requirement_of(NcclAlgorithm algorithm);

}  // namespace gradwire
