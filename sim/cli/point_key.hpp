#pragma once

#include <map>
#include <string>

#include "sim/config/scenario.hpp"

namespace gradwire::cli {

/// This very program: its version, the SHA-256 of its file, and its SimGrid's version.
/// @throws ConfigError when its file cannot be read.
[[nodiscard]] std::string program_identity();

/// Names a prediction by all that decides it: the program, the scenario with every override in
/// place, its name and warnings, and what stood in the data files that it was read from; a hash.
/// The files' names and places do not count.
/// @param digests  SHA-256 of those files, by name (config::ReadFiles), without the scenario's own.
[[nodiscard]] std::string point_key(const std::string& program, const config::Scenario& scenario,
                                    const std::map<std::string, std::string>& digests);

}  // namespace gradwire::cli
