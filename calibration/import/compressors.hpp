#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.hpp"

namespace gradwire::calibration {

/// A number of fp32 elements that was encoded and decoded, one behind the other.
struct CompressorTimes {
  std::int64_t elements = 0;
  Seconds encode;
  Seconds decode;
};

struct CompressorSeries {
  std::string compressor;  ///< its name in a scenario
  std::string settings;    ///< "density 0.1 %", "" when there are none
  std::vector<CompressorTimes> rows;
};

/// A file of compressors' times.
struct CompressorBench {
  std::string tool;
  std::string date;
  std::string node;
  std::string gpu;             ///< "" on a CPU
  std::string implementation;  ///< "kernels" (our own) or "torch" (PyTorch's operations)
  bool on_gpu = true;
  BytesPerSecond memory_bandwidth{};  ///< nominal, of the GPU; 0 where unknown
  std::vector<CompressorSeries> series;
};

/// Reads what `gradwire-bench compressors` and workloads/compressors.py write (schema
/// gradwire.bench.compressors/1). Times are the pipelined ones: in a training step the launches
/// run ahead of the GPU.
/// @throws ConfigError at the place in the file.
[[nodiscard]] CompressorBench read_bench_compressors(const std::string& text,
                                                     const std::string& file);

/// The same as a file of profiles/compressors (YAML, schema gradwire.compressor_costs/1).
/// @param bandwidth  nominal, of the GPU's memory, where the record does not tell it; else ignored.
/// @throws SimulationError when it is a GPU's and neither tells the bandwidth.
[[nodiscard]] std::string write_compressor_costs(const CompressorBench& bench,
                                                 BytesPerSecond bandwidth = {});

}  // namespace gradwire::calibration
