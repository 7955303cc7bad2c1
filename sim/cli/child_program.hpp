#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gradwire::cli {

/// The exit code of a program that cannot be run, as a shell's.
constexpr int cannot_run = 127;

/// Runs a program with our standard streams and waits for it; no shell reads its words. While it
/// runs, SIGINT, SIGTERM and SIGHUP that we get are its own.
/// @param environment  variables that it gets beside ours
/// @return its exit code; 128 + N where signal N ended it; cannot_run, with a message
[[nodiscard]] int run_program(const std::vector<std::string>& command,
                              const std::vector<std::pair<std::string, std::string>>& environment);

/// What became of a program whose output was wanted.
struct ProgramOutput {
  int code = 0;      ///< as run_program's
  std::string text;  ///< its standard output
};

/// Runs a program without a shell on `input` as its standard input, and takes what it prints.
/// @throws std::system_error where the system has no process or memory for it
[[nodiscard]] ProgramOutput run_with_input(const std::vector<std::string>& command,
                                           const std::string& input);

}  // namespace gradwire::cli
