#pragma once

#include <string>
#include <vector>

namespace gradwire::cli {

/// `gradwire show plan`: the groups that a scenario's strategy forms, its servers' shares, its own
/// exchanges. @param svg  file for the picture, "" for none.
/// @throws ConfigError
void show_plan(const std::string& file, const std::vector<std::string>& sets,
               const std::string& point, const std::string& svg);

}  // namespace gradwire::cli
