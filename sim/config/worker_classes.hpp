#pragma once

#include "sim/config/scenario.hpp"

namespace gradwire::config {

/// Gives the ranks on GPUs of another type than the profile's their own times: a profile derived
/// from the scenario's, layer by layer and direction by direction. Boards that differ in memory
/// only count as the same. Where the cluster's GPU is not described, or lacks the profile's type of
/// numbers, the profile's times stay. Either way the scenario warns.
/// REQUIRES: profile, cluster and placement are read.
void give_worker_classes(Scenario& scenario);

}  // namespace gradwire::config
