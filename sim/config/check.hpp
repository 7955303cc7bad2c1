#pragma once

#include <string>

namespace gradwire::config {

/// Reads any YAML file of ours by its `schema:` and checks all that can be checked without running:
/// a scenario with every point, or every value of every sweep axis (the other axes at their first).
/// @throws ConfigError at the first thing that is wrong.
void check_file(const std::string& file);

}  // namespace gradwire::config
