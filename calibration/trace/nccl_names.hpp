#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/collectives/pattern.hpp"

namespace gradwire {

/// Our name for an algorithm or protocol as NCCL prints it, by name ("RING", "Tree",
/// "CollNetDirect") or by number (v2.28.9, src/include/nccl_tuner.h: 0 Tree, 1 Ring,
/// 2 CollNetDirect, 3 CollNetChain, 4 NVLS, 5 NVLSTree, 6 PAT; 0 LL, 1 LL128, 2 Simple).
/// @return "" for others.
[[nodiscard]] std::string nccl_algorithm(std::string_view printed);
[[nodiscard]] std::string nccl_protocol(std::string_view printed);

/// The operation that NCCL calls so: "AllReduce". SendRecv is an exchange of pairs.
[[nodiscard]] std::optional<CollectiveKind> nccl_operation(std::string_view printed);

}  // namespace gradwire
