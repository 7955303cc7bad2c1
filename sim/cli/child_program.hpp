#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gradwire::cli {

/// Runs a program with our standard streams and waits for it. While it runs, SIGINT, SIGTERM and
/// SIGHUP that we get are its own.
/// @param environment  variables that it gets beside ours
/// @return its exit code; 128 + N where signal N ended it; 127 where it cannot be run, as a shell
[[nodiscard]] int run_program(const std::vector<std::string>& command,
                              const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace gradwire::cli
