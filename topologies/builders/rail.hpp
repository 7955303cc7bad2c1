#pragma once

#include <span>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// Rail-optimised: NIC i of every machine hangs on a switch of rail i, so that GPUs of one index
/// are one switch apart (Wang et al., Rail-only: a low-cost high-performance network for training
/// LLMs with trillion parameters, 2023, describes both forms).
struct RailShape {
  int machines_per_leaf = 0;  ///< on each switch of a rail; 0: one switch a rail
  int spines = 0;             ///< above all rails; 0: none, rails meet only inside machines
  int cables_per_spine = 1;   ///< from each rail switch to each spine
  Link trunk;                 ///< one cable
};

/// As many rails as the machine with most NICs has. Without spines there is no way between rails in
/// the fabric; Cluster::append_remote takes NVLink inside the sending machine then.
[[nodiscard]] Fabric rail(std::span<const PortGroup> groups, const RailShape& shape);

}  // namespace gradwire
