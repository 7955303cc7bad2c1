#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"

namespace gradwire::config {

/// The keys of a scenario.
[[nodiscard]] Section scenario_section();

/// The sections of a scenario, each before those inside it, and then those of the files that it
/// names; each once.
[[nodiscard]] std::vector<Section> all_sections();

/// A JSON Schema (draft 7) of scenario files, for editors: it knows every key, and refuses others.
/// Quantities are texts of a number and a unit. Only keys of lists' items are required: `points`
/// and `vary` may give any other.
[[nodiscard]] std::string scenario_schema();

}  // namespace gradwire::config
