#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace gradwire::calibration {

enum class RecordMode { light, full };

/// What the recorder is told through the environment of the program that it records.
struct Settings {
  std::string folder = ".";            ///< GRADWIRE_OUT
  RecordMode mode = RecordMode::full;  ///< GRADWIRE_MODE: light | full
  int rank = 0;                        ///< GRADWIRE_RANK_FROM names the variable that has it
  int world_size = 1;
  std::size_t skip_iterations = 0;  ///< GRADWIRE_SKIP_ITERS
  std::size_t iterations = 0;       ///< GRADWIRE_ITERS; 0: all
  std::size_t memory_bytes =
      256U << 20U;  ///< GRADWIRE_MEMORY: bound of all buffers (bytes, or 64M)
};

/// Value of a variable of the environment, or null.
using Environment = std::function<const char*(const char*)>;

/// Reads the variables above; without GRADWIRE_RANK_FROM the rank is what torchrun (RANK), Open MPI
/// (OMPI_COMM_WORLD_RANK) or Slurm (SLURM_PROCID) say, in this order.
/// @param error  set to one line where a value is not understood; nothing is to be recorded then
Settings read_settings(const Environment& environment, std::string& error);

/// "light" or "full".
const char* name_of(RecordMode mode);

}  // namespace gradwire::calibration
