#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradwire::cli {

/// A list of `gradwire list` for reading. @param with_details  parameters, options, operations
/// below each entry; else a line an entry.
[[nodiscard]] std::string list_text(const nlohmann::ordered_json& list, bool with_details);

}  // namespace gradwire::cli
