#pragma once

namespace gradwire::cli {

/// The whole program: parses the arguments, runs the command, tells errors on standard error.
/// @return the exit code: 0 done; 1 the simulation (or writing its results) failed; 2 bad command
///         line; 3 bad input file; 130 interrupted.
[[nodiscard]] int run_command_line(int argc, const char* const* argv);

}  // namespace gradwire::cli
