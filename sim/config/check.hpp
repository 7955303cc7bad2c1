#pragma once

#include <string>

namespace gradwire::config {

/// Reads any YAML file of ours by its `schema:` and checks all that can be checked without running:
/// a scenario with every point, or every value of every sweep axis (the other axes at their first).
/// @throws ConfigError at the first thing that is wrong.
void check_file(const std::string& file);

/// What a command is about to write, unchanged: what `check` would refuse must not be written.
/// @param text   of any YAML file of ours but a scenario
/// @param output  it will be written to
/// @param input   it was made of
/// @throws ConfigError at the input: what is wrong is there.
[[nodiscard]] std::string checked(std::string text, const std::string& output,
                                  const std::string& input);

}  // namespace gradwire::config
