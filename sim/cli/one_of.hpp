#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gradwire::cli {

/// Accepts one of these names; what is none of them is reported with the nearest one.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& names);

/// Accepts a name that becomes a file's or a folder's, and no path.
[[nodiscard]] CLI::Validator file_name();

}  // namespace gradwire::cli
