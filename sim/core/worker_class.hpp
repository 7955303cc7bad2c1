#pragma once

#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/gpu.hpp"

namespace gradwire {

/// How the ranks on one type of GPU compute.
struct WorkerClass {
  ComputeProfile profile;
  GpuSpec gpu;
};

/// The classes of a job beside class 0, which is the job's own profile and GPU: other times of the
/// same layers and tensors. Class c > 0 is others[c - 1].
struct WorkerClasses {
  std::vector<WorkerClass> others;
  std::vector<int> of_rank;  ///< class of each rank; empty: all are of class 0
};

}  // namespace gradwire
