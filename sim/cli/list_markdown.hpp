#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradwire::cli {

/// A list of `gradwire list` as a page of the documentation: one section a kind of entry, with
/// whatever the entries tell (parameters, operations with steps and bytes, ranges, sources).
/// @param title  of the page; @param command  that makes it, for its first lines.
[[nodiscard]] std::string list_markdown(const nlohmann::ordered_json& list,
                                        const std::string& title, const std::string& command);

}  // namespace gradwire::cli
