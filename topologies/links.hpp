#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/cluster.hpp"

namespace gradwire {

/// A network port that scenarios name in `fabric.link`, with the origin of its figures.
struct PortKind {
  PortSpec port;           ///< payload bandwidth; latency of one port: half a GPU-to-GPU crossing
                           ///< without the PCIe of either end
  BytesPerSecond nominal;  ///< one direction, as sold
  std::string source;
};

/// All kinds, by technology and speed.
[[nodiscard]] std::span<const PortKind> port_kinds();
/// nullptr when there is no such kind.
[[nodiscard]] const PortKind* find_port_kind(std::string_view name);
[[nodiscard]] std::vector<std::string> port_kind_names();

}  // namespace gradwire
