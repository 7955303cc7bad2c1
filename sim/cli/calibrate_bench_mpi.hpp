#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gradwire::cli {

/// What `calibrate bench --backend mpi` is asked for.
struct MpiBench {
  std::string hosts;  ///< as mpirun's --host, "" for this machine alone
  int ranks = 0;      ///< 0: as many as hosts have slots, two on this machine
  std::string ops = "all_reduce";
  std::string sizes = "4KiB:16MiB:x4";
  double budget = 1;               ///< seconds for each size
  std::string algorithm = "auto";  ///< of all_reduce, see MpiLibrary::all_reduce_algorithms()
  std::string mpirun;              ///< further words for mpirun, "--mca btl tcp,self"
};

/// Adds the options of the MPI backend, in a group of their own. `bench` must outlive the app.
void add_mpi_options(CLI::App& command, MpiBench& bench);

/// Runs gradwire-mpi-bench, which stands beside this program, under mpirun. It writes one file a
/// collective into `output`: gradwire.bench.collectives/1, which `calibrate fit` reads.
/// @return the exit code of mpirun. @throws ConfigError for what the options say wrong;
/// std::runtime_error where the program or mpirun is missing: what to install.
[[nodiscard]] int run_mpi_bench(const MpiBench& bench, const std::string& output);

}  // namespace gradwire::cli
