#pragma once

#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"

namespace gradwire::config {

/// In a cluster of several types of GPU, gives the ranks on another type than the profile's their
/// own times: a profile derived from the scenario's, layer by layer and direction by direction.
/// Boards that differ in memory only count as the same. In a cluster of one type the profile says
/// what its GPUs compute, whatever the node is called; its times also stay where the cluster's GPU
/// is not described. The scenario warns of any difference.
/// REQUIRES: profile, cluster and placement are read.
/// @throws ConfigError at `where`, the cluster, when one of several types lacks the profile's type
///         of numbers.
void give_worker_classes(Scenario& scenario, const SourceLocation& where);

}  // namespace gradwire::config
