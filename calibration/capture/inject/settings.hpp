#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace gradwire::calibration {

enum class RecordMode { light, full };

/// What the recorder is given through the environment of the program that it records.
struct Settings {
  std::string folder = ".";            ///< GRADWIRE_OUT
  RecordMode mode = RecordMode::full;  ///< GRADWIRE_MODE: light | full
  int rank = 0;                        ///< GRADWIRE_RANK_FROM names the variable that has it
  int world_size = 1;                  ///< at least the rank and those below it, where nobody tells
  std::string rank_from;  ///< the variable that had the rank; empty: none, and the rank is 0
  std::size_t skip_iterations = 0;  ///< GRADWIRE_SKIP_ITERS
  std::size_t iterations = 0;       ///< GRADWIRE_ITERS; 0: all
  std::size_t memory_bytes =
      256U << 20U;  ///< GRADWIRE_MEMORY: bound of all buffers (bytes, or 64M)
  /// GRADWIRE_FILE_SIZE: bound of the file (bytes, or 4G). 4 GiB are some 40 million ranges, far
  /// more than a profile wants, and leave a shared disk alone.
  std::size_t file_bytes_max = std::size_t{4} << 30U;
  bool command_line = false;  ///< GRADWIRE_COMMAND_LINE=1: the words after the program's name too
};

/// Value of a variable of the environment, or null.
using Environment = std::function<const char*(const char*)>;

/// Reads the variables above; without GRADWIRE_RANK_FROM the rank is what torchrun (RANK), Open MPI
/// (OMPI_COMM_WORLD_RANK), PMI (PMI_RANK), PALS (PALS_RANKID), Slurm (SLURM_PROCID) or PMIx
/// (PMIX_RANK) say, in this order. Sources: torchrun's and srun's manuals, Open MPI's FAQ, MPICH's
/// Hydra, the variables of Cray's pals.h.
/// @param error  set to one line where a value is not understood; nothing is to be recorded then
Settings read_settings(const Environment& environment, std::string& error);

/// "light" or "full".
const char* name_of(RecordMode mode);

}  // namespace gradwire::calibration
