#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gradwire::cli {

/// What `calibrate bench --backend nccl` is asked for.
struct NcclBench {
  /// What is measured, of these.
  std::vector<std::string> parts = {"node", "copies", "overlap", "compressors_cpu", "collectives"};
  std::string algorithms = "auto";  ///< of collectives: auto, ring, tree, ...; all
  std::string protocols = "auto";   ///< auto, ll, ll128, simple; all
  std::string ops;                  ///< "" for gradwire-bench's own choice, as the next
  std::string sizes;
};

/// Adds the options that only the NCCL backend has, in a group of their own. `bench` must outlive
/// the app.
void add_nccl_options(CLI::App& command, NcclBench& bench);

/// Runs gradwire-bench, which stands beside this program, once for each part: it writes
/// output/PART.json of each, and output/collectives/.
/// @return its exit code: 4 where there is no GPU or driver, or where it was not built, which is
///         told in one line. Collectives need two GPUs: with one they are left out when they are
///         not the only part.
[[nodiscard]] int run_nccl_bench(const NcclBench& bench, const std::string& output);

}  // namespace gradwire::cli
