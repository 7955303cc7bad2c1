#pragma once

#include <map>
#include <string>

#include "sim/core/units.hpp"

namespace gradwire {

/// What the simulator must know of a GPU model to price device work that no profile contains
/// (bucket copies, casts). Read from profiles/gpus/NAME.yaml, with its source.
struct GpuSpec {
  std::string name;
  int multiprocessors = 0;
  BytesPerSecond memory_bandwidth;           ///< nominal
  double memory_efficiency = 0;              ///< reachable share of it by a streaming kernel, 0..1
  Seconds kernel_overhead;                   ///< least time a small kernel takes in a busy stream
  std::map<std::string, double> peak_flops;  ///< dtype -> operations per second
};

}  // namespace gradwire
