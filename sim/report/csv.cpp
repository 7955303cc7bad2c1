#include "sim/report/csv.hpp"

#include <nlohmann/json.hpp>

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

CsvLines::CsvLines(const ResultRow& typical) {
  for (const auto& [key, value] : typical.axes) axes_.push_back(key);
  if (!typical.error.empty()) return;
  const Json values = figures(typical.result);
  for (const auto& [place, value] : values.items()) places_.push_back(place);
}

std::string CsvLines::head() const {
  std::string text;
  for (const std::string& key : axes_) text += csv_cell(key) + ',';
  for (std::string place : places_) {
    std::replace(place.begin(), place.end(), '/', '.');
    text += csv_cell(place.substr(1)) + ',';
  }
  return text + "error\n";
}

std::string CsvLines::line(const ResultRow& row) const {
  std::string text;
  for (const auto& [key, value] : row.axes) text += csv_cell(value) + ',';
  const Json values = row.error.empty() ? figures(row.result) : Json::object();
  for (const std::string& place : places_) text += cell(values, place) + ',';
  return text + csv_cell(row.error) + '\n';
}

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
  const CsvLines lines(typical);
  std::string text = lines.head();
  for (const ResultRow& row : rows) text += lines.line(row);
  return text;
}

}  // namespace gradwire
