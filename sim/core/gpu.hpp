#pragma once

#include <map>
#include <string>

#include "sim/core/units.hpp"

namespace gradwire {

/// Share of a bound that kernels of one class reach, by direction. Above 1 where an algorithm does
/// less arithmetic than is counted (Winograd).
struct Efficiency {
  double forward = 0;
  double backward = 0;
};

/// Class of work (see work_class() in sim/models/efficiencies.hpp) -> efficiency. Of the peak for
/// matrix work; of the reachable memory bandwidth for all other.
using EfficiencyTable = std::map<std::string, Efficiency>;

/// What the simulator must know of a GPU model to price work that no profile contains. Read from
/// profiles/gpus/NAME.yaml, with its sources.
struct GpuSpec {
  std::string name;
  std::string architecture;  ///< "volta"; "" when the file states none
  int multiprocessors = 0;
  Bytes memory_size{0};                      ///< 0 when the file states none
  BytesPerSecond memory_bandwidth;           ///< nominal
  double memory_efficiency = 0;              ///< reachable share of it by a streaming kernel, 0..1
  Seconds kernel_overhead;                   ///< least time a small kernel takes in a busy stream
  Seconds host_launch;                       ///< host time to launch one kernel; 0 when not stated
  std::map<std::string, double> peak_flops;  ///< dtype -> operations per second
  /// dtype -> efficiencies; empty when the file names none, and then nothing analytic can be made.
  std::map<std::string, EfficiencyTable> efficiency;
};

}  // namespace gradwire
