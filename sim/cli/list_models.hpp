#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/config/catalogue.hpp"

namespace gradwire::cli {

/// Name, default and source of each.
[[nodiscard]] nlohmann::ordered_json options_json(const std::vector<config::KeyInfo>& options);

/// Models that are built in, and profiles that ship, as `gradwire list` shows them.
[[nodiscard]] nlohmann::ordered_json models_json();
[[nodiscard]] nlohmann::ordered_json profiles_json();

}  // namespace gradwire::cli
