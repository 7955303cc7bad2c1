#pragma once

#include <string>
#include <vector>

#include "sim/config/data_files.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/units.hpp"

namespace gradwire::cli {

/// The point of that label; with "", the one with the most ranks (the last of them).
/// @throws ConfigError with the nearest label.
[[nodiscard]] const config::Scenario& choose_point(const std::vector<config::Scenario>& points,
                                                   const std::string& label,
                                                   const std::string& file);

/// The file that an argument names: an existing path, or the shipped data of that kind.
/// @throws ConfigError with the nearest shipped name.
[[nodiscard]] std::string data_argument(config::DataKind kind, const std::string& argument);

/// The `schema:` of a YAML file, "" when it has none.
/// @throws ConfigError when it cannot be read.
[[nodiscard]] std::string schema_of(const std::string& file);

constexpr const char* scenario_schema = "gradwire.scenario/1";

/// For a file that is no scenario, where one might have been: it has no keys to override, no
/// points.
/// @throws ConfigError when `sets` or `point` is not empty.
void refuse_changes(const std::string& file, const std::vector<std::string>& sets,
                    const std::string& point);

/// Sizes of messages: "1KiB:1GiB:x2" (from, to, factor), "1MiB:4MiB:+1MiB" (step), or a list
/// "64KiB,1MiB". At most 1000 of them, none 0.
/// @throws ConfigError placed in "--sizes".
[[nodiscard]] std::vector<Bytes> parse_sizes(const std::string& text);

}  // namespace gradwire::cli
