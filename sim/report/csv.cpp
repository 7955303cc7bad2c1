#include "sim/report/csv.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> left_out = {
    "schema", "gradwire_version", "label", "scenario", "links", "warnings", "engine"};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

/// The figures of a result: JSON pointer ("/breakdown_s/forward") and value.
Json figures(Json result) {
  for (const std::string_view key : left_out) result.erase(std::string(key));
  return result.flatten();
}

std::string cell(const Json& values, const std::string& place) {
  const auto found = values.find(place);
  if (found == values.end()) return "";
  return found->is_string() ? quoted(found->get<std::string>()) : found->dump();
}

}  // namespace

std::string csv(std::span<const ResultRow> rows) {
  std::string text;
  if (rows.empty()) return text;
  for (const auto& [key, value] : rows.front().axes) text += quoted(key) + ',';
  std::vector<std::string> places;
  const auto good = std::find_if(rows.begin(), rows.end(),
                                 [](const ResultRow& row) { return row.error.empty(); });
  if (good != rows.end()) {
    const Json values = figures(good->result);
    for (const auto& [place, value] : values.items()) places.push_back(place);
  }
  for (std::string place : places) {
    std::replace(place.begin(), place.end(), '/', '.');
    text += place.substr(1) + ',';
  }
  text += "error\n";
  for (const ResultRow& row : rows) {
    for (const auto& [key, value] : row.axes) text += quoted(value) + ',';
    const Json values = row.error.empty() ? figures(row.result) : Json::object();
    for (const std::string& place : places) text += cell(values, place) + ',';
    text += quoted(row.error) + '\n';
  }
  return text;
}

}  // namespace gradwire
