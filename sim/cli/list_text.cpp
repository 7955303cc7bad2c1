#include "sim/cli/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Lines below an entry: its parameters or options, a preset's settings, an algorithm's operations.
std::vector<std::string> details(const Json& entry) {
  std::vector<std::string> lines;
  if (entry["kind"] == "preset") {
    for (const char* key : {"strategy", "collective", "source"}) {
      if (entry.contains(key)) {
        lines.push_back(plain_format("{}: {}", key, entry[key].get<std::string>()));
      }
    }
  }
  const char* knobs = entry.contains("options") ? "options" : "parameters";
  const Json parameters = entry.value(knobs, Json(nullptr));
  for (const Json& parameter : parameters.is_array() ? parameters : Json::array()) {
    const auto with = parameter.value("with", std::vector<std::string>());
    lines.push_back(
        plain_format("{}: {}  ({}; {}{})", parameter["name"].get<std::string>(),
                     parameter["default"].get<std::string>(), parameter["value"].get<std::string>(),
                     parameter["source"].get<std::string>(),
                     with.empty() ? "" : fmt::format("; of {}", joined_by(with, ", "))));
  }
  const Json operations = entry.value("operations", Json::array());
  std::size_t width = 0;
  for (const Json& does : operations) {
    width = std::max(width, does["op"].get_ref<const std::string&>().size());
  }
  for (const Json& does : operations) {
    lines.push_back(
        plain_format("{:<{}}  {} steps, {} sent by a rank", does["op"].get<std::string>(), width,
                     does["steps"].get<std::string>(), does["bytes_per_rank"].get<std::string>()));
  }
  if (!operations.empty()) {
    lines.push_back(plain_format("ranks: {}; source: {}", entry["ranges"].get<std::string>(),
                                 entry["source"].get<std::string>()));
  }
  return lines;
}

}  // namespace

std::string list_text(const Json& list, bool with_details) {
  std::string text;
  auto out = std::back_inserter(text);
  std::size_t width = 0;
  for (const Json& entry : list) {
    width = std::max(width, entry["name"].get_ref<const std::string&>().size());
  }
  const bool several_kinds = std::any_of(list.begin(), list.end(), [&](const Json& entry) {
    return entry["kind"] != list.front()["kind"];
  });
  std::string kind;
  for (const Json& entry : list) {
    if (several_kinds && entry["kind"] != kind) {
      if (!kind.empty()) text += '\n';
      kind = entry["kind"].get<std::string>();
      plain_format_to(out, "{}:\n", kind);
    }
    plain_format_to(out, "{:<{}}  {}{}\n", entry["name"].get<std::string>(), width,
                    entry.contains("exactness")
                        ? plain_format("{:<7}", entry["exactness"].get<std::string>())
                        : "",
                    entry["summary"].get<std::string>());
    if (!with_details) continue;
    for (const std::string& line : details(entry)) {
      plain_format_to(out, "{:<{}}    {}\n", "", width, line);
    }
  }
  return text;
}

}  // namespace gradwire::cli
