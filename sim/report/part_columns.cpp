#include "sim/report/part_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

constexpr double least_shown = 5e-6;  ///< s; less is 0.00 ms
constexpr std::size_t width = 11;

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
  for_shown([&](const Column& column) { text += fmt::format("{:>{}}", column.name, width); });
  return text;
}

std::string PartColumns::line(const nlohmann::ordered_json& result) const {
  std::string text;
  for_shown([&](const Column& column) {
    text += fmt::format("{:>{}.2f}", 1e3 * seconds(column, result), width);
  });
  return text;
}

}  // namespace gradwire
