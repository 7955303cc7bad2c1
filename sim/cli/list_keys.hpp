#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradwire::cli {

/// The sections of a scenario and of the files that it names, each with its keys: for `gradwire
/// list keys`.
[[nodiscard]] nlohmann::ordered_json keys_json();

/// A table of the section's keys, as docs/scenario.md has it. @param entry  of keys_json().
[[nodiscard]] std::string keys_markdown(const nlohmann::ordered_json& entry);

}  // namespace gradwire::cli
