#pragma once

#include <string>
#include <vector>

namespace gradwire::calibration {

/// One subcommand of gradwire-bench.
struct BenchCommand {
  const char* name;
  const char* help;  ///< one line
  /// @param words  what follows the name. @return exit code; errors are thrown
  int (*run)(const std::vector<std::string>& words);
};

int run_node(const std::vector<std::string>& words);
int run_copies(const std::vector<std::string>& words);
int run_collectives(const std::vector<std::string>& words);
int run_overlap(const std::vector<std::string>& words);
int run_compressors_cpu(const std::vector<std::string>& words);
int run_selftest(const std::vector<std::string>& words);

constexpr int exit_done = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_no_device = 4;
constexpr int exit_interrupted = 130;

}  // namespace gradwire::calibration
