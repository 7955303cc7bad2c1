#include "sim/report/csv.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "sim/core/outgoing_text.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> left_out = {
    "schema", "gradwire_version", "label", "scenario", "links", "warnings", "engine"};

/// The figures of a result: JSON pointer ("/breakdown_s/forward") and value.
Json figures(Json result) {
  for (const std::string_view key : left_out) result.erase(std::string(key));
  return result.flatten();
}

std::string cell(const Json& values, const std::string& place) {
  const auto found = values.find(place);
  if (found == values.end() || found->is_null()) return "";
  return found->is_string() ? csv_cell(found->get<std::string>()) : found->dump();
}

}  // namespace

std::string csv(const ResultRows& rows) {
  if (rows.empty()) return "";
  // Some figures are not every row's (a job that one GPU could hold has no `efficiency_over`).
  ResultRow typical = rows[0];
  std::size_t most = 0;
  for (ResultRow row : rows) {
    if (!row.error.empty() || row.result.size() <= most) continue;
    most = row.result.size();
    typical = std::move(row);
  }
  const Json columns = typical.error.empty() ? figures(typical.result) : Json::object();
  std::string text;
  for (const auto& [key, value] : typical.axes) text += csv_cell(key) + ',';
  for (const auto& [place, value] : columns.items()) {
    std::string name = place.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    text += csv_cell(name) + ',';
  }
  text += "error\n";
  for (const ResultRow& row : rows) {
    for (const auto& [key, value] : row.axes) text += csv_cell(value) + ',';
    const Json values = row.error.empty() ? figures(row.result) : Json::object();
    for (const auto& [place, value] : columns.items()) text += cell(values, place) + ',';
    text += csv_cell(row.error) + '\n';
  }
  return text;
}

}  // namespace gradwire
