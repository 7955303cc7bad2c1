#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"

namespace gradwire::cli {

/// The frameworks whose host times analytic profiles may have, as `gradwire list` shows them.
[[nodiscard]] nlohmann::ordered_json frameworks_json();

/// The sections of a scenario and of the files that it names, each with its keys: for `gradwire
/// list keys`.
[[nodiscard]] nlohmann::ordered_json keys_json();

/// A table of the section's keys, as docs/scenario.md has it. @param entry  of keys_json().
[[nodiscard]] std::string keys_markdown(const nlohmann::ordered_json& entry);

/// A list of `gradwire list` as a page of the documentation: one section a kind of entry, with
/// whatever the entries tell (parameters, operations with steps and bytes, ranges, sources).
/// @param title  of the page; @param command  that makes it, for its first lines.
[[nodiscard]] std::string list_markdown(const nlohmann::ordered_json& list,
                                        const std::string& title, const std::string& command);

/// Name, default and source of each.
[[nodiscard]] nlohmann::ordered_json options_json(const std::vector<config::KeyInfo>& options);

/// Models that are built in, and profiles that ship, as `gradwire list` shows them.
[[nodiscard]] nlohmann::ordered_json models_json();
[[nodiscard]] nlohmann::ordered_json profiles_json();

/// `gradwire list presets`: name, summary, the settings as YAML, source.
[[nodiscard]] nlohmann::ordered_json presets_json();

/// `gradwire list variables`: the original systems' own knobs, with ours and their unit.
[[nodiscard]] nlohmann::ordered_json variables_json();

/// A list of `gradwire list` for reading. @param with_details  parameters, options, operations
/// below each entry; else a line an entry.
[[nodiscard]] std::string list_text(const nlohmann::ordered_json& list, bool with_details);

}  // namespace gradwire::cli
