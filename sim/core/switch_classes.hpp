#pragma once

#include <vector>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// Which switches are alike: the coarsest partition, finer than `colour`, in which two switches of
/// a class have equally many trunks of each bandwidth and latency to every class (colour
/// refinement, 1-WL). Classes count from 0 in order of first appearance.
/// @param colour  of each switch, any numbers; equal ones may fall together.
[[nodiscard]] std::vector<int> switch_classes(const Fabric& fabric, std::vector<int> colour);

/// The fabric with equal-cost paths drawn as one: switches without ports that are alike become
/// one switch that stands for `count`, and the trunks between two such become one with `lanes`
/// cables and the bandwidth of all of them.
///
/// With every flow divided evenly at each switch over its best trunks, the trunks that fall
/// together carry equal loads at every instant (each switch of a class has equally many trunks to
/// every other class, so what enters a class evenly leaves it evenly), so the merged fabric gives
/// the same rates. Routes of the default rule only.
/// @return with `routing` spread.
[[nodiscard]] Fabric merge_equal_ways(const Fabric& fabric);

}  // namespace gradwire
