#pragma once

#include <memory>
#include <vector>

#include "calibration/capture/bench/compute.hpp"

namespace gradwire::calibration {

/// A kind of work and a communication, each alone and both at once.
struct OverlapTimes {
  int calls = 0;  ///< of the work
  double compute_alone_us = 0;
  double compute_overlapped_us = 0;
  double rate_alone = 0;  ///< of the communication, bytes per second
  double rate_overlapped = 0;
};

/// Beside all-reduces of 64 MiB by NCCL over all GPUs, held to `blocks` of its thread blocks
/// (NCCL_MIN_CTAS, NCCL_MAX_CTAS). Of times the slowest GPU's.
/// @param compute  the same work on each GPU, by index: at least two.
/// @throws DeviceError where NCCL is missing or refuses.
[[nodiscard]] OverlapTimes overlap_with_nccl(const std::vector<std::unique_ptr<Compute>>& compute,
                                             int blocks);

}  // namespace gradwire::calibration
