#pragma once

#include <nlohmann/json.hpp>

namespace gradwire::cli {

/// `gradwire list presets`: name, summary, the settings as YAML, source.
[[nodiscard]] nlohmann::ordered_json presets_json();

/// `gradwire list variables`: the original systems' own knobs, with ours and their unit.
[[nodiscard]] nlohmann::ordered_json variables_json();

}  // namespace gradwire::cli
