#include "sim/report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"

namespace gradwire {
namespace {

constexpr double least_shown = 5e-6;  ///< s; less is 0.00 ms
constexpr std::size_t column_width = 11;

}  // namespace

std::vector<PartColumns::Column> PartColumns::all() {
  return {{"compute", {"forward", "backward", "optimizer"}},
          {"slowdown", {"overlap_slowdown"}},
          {"exposed", {"exposed_communication"}},
          {"coding", {"encode_decode"}},
          {"copies", {"copies"}},
          {"host", {"host", "other"}},
          {"waiting", {"straggler_wait"}}};
}

double PartColumns::seconds(const Column& column, const nlohmann::ordered_json& result) {
  double sum = 0;
  for (const std::string& part : column.parts) sum += result["breakdown_s"][part].get<double>();
  return sum;
}

void PartColumns::add(const nlohmann::ordered_json& result) {
  for (Column& column : columns_) {
    column.most = std::max(column.most, std::abs(seconds(column, result)));
  }
}

template <class Use>
void PartColumns::for_shown(Use use) const {
  for (const Column& column : columns_) {
    // What is looked for stands there even where there is none.
    if (column.most >= least_shown || column.name == "exposed") use(column);
  }
}

std::string PartColumns::head() const {
  std::string text;
  for_shown(
      [&](const Column& column) { text += fmt::format("{:>{}}", column.name, column_width); });
  return text;
}

std::string PartColumns::line(const nlohmann::ordered_json& result) const {
  std::string text;
  for_shown([&](const Column& column) {
    text += fmt::format("{:>{}.2f}", 1e3 * seconds(column, result), column_width);
  });
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void WorkColumns::add(const Json& result) {
  const bool counted = result.value("profile_source", "") == "analytic" && result.contains("mfu");
  shown_ = shown_ || counted || result.contains("tokens_per_s_per_gpu");
}

std::string WorkColumns::head() const {
  return shown_ ? plain_format("{:>14}{:>8}{:>12}", "tokens/s/GPU", "MFU", "memory") : "";
}

std::string WorkColumns::line(const Json& result) const {
  if (!shown_) return "";
  const auto cell = [&](const char* key, double scale, const char* unit) -> std::string {
    const auto found = result.find(key);
    return found == result.end() ? "-"
                                 : plain_format("{:.1f}{}", scale * found->get<double>(), unit);
  };
  const auto memory = result.find("memory_bytes");
  return plain_format(
      "{:>14}{:>8}{:>12}", cell("tokens_per_s_per_gpu", 1, ""), cell("mfu", 100, " %"),
      memory == result.end() ? "-" : readable_bytes(memory->at("peak").get<double>()));
}

}  // namespace gradwire
