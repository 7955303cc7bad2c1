#include "sim/report/efficiency_over.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "sim/report/metrics.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

/// What decides how many GPUs there are: rows that differ in it alone are compared.
constexpr std::array<std::string_view, 2> counts = {"cluster.nodes", "cluster.gpus_per_node"};

constexpr const char* key_of_result = "efficiency_over";

void add(Json& result, const EfficiencyOverFewest& over) {
  result[key_of_result] = {{"world_size", over.world_size}, {"efficiency", over.efficiency}};
}

constexpr std::string_view does_not_fit = "memory";  ///< the warning of jobs run all the same

bool holds_job(const Point& point) {
  return std::ranges::find(point.result.warnings, does_not_fit, &Warning::code) ==
         point.result.warnings.end();
}

bool holds_job(const ResultRow& row) {
  return std::ranges::none_of(row.result.value("warnings", Json::array()), [](const Json& warning) {
    return warning.at("code") == does_not_fit;
  });
}

bool needs_several(const ResultRow& row) {
  return row.error.empty() && !row.result.value("one_gpu_fits", true);
}

/// What rows have in common that are compared.
std::string family_of(const ResultRow& row) {
  Json family = Json::array();
  for (const char* key : {"model", "strategy", "batch_per_gpu", "framework"}) {
    family.push_back(row.result.value(key, Json()));
  }
  for (const auto& [key, value] : row.axes) {
    if (std::ranges::find(counts, key) == counts.end()) family.push_back(value);
  }
  return family.dump();
}

struct Fewest {
  int world_size = 0;
  double throughput_per_gpu = 0;
};

}  // namespace

std::optional<EfficiencyOverFewest> efficiency_over_fewest(const Point& point,
                                                           std::span<const Point> points) {
  if (point.result.one_gpu_fits) return std::nullopt;
  const Point* fewest = holds_job(point) ? &point : nullptr;  // of equal ones it is its own base
  for (const Point& other : points) {
    const bool alike = holds_job(other) && other.model == point.model &&
                       other.strategy == point.strategy &&
                       other.result.batch_per_gpu == point.result.batch_per_gpu &&
                       other.result.framework == point.result.framework;
    const bool fewer = fewest == nullptr || other.result.world_size < fewest->result.world_size;
    if (alike && fewer) fewest = &other;
  }
  if (fewest == nullptr) return std::nullopt;
  const double own = metrics_of(point.result).throughput_per_gpu;
  const double theirs = metrics_of(fewest->result).throughput_per_gpu;
  return EfficiencyOverFewest{fewest->result.world_size, own / theirs};
}

void add_efficiency_over(Json& result, const Point& point, std::span<const Point> points) {
  if (const auto over = efficiency_over_fewest(point, points)) add(result, *over);
}

ResultRows with_efficiency_over(const ResultRows& rows) {
  std::map<std::string, Fewest> fewest;
  for (const ResultRow& row : rows) {
    if (!needs_several(row) || !holds_job(row)) continue;
    const int world_size = row.result.at("world_size").get<int>();
    const auto [family, is_new] = fewest.try_emplace(family_of(row));
    if (!is_new && family->second.world_size <= world_size) continue;
    family->second = {world_size, row.result.at("throughput_per_gpu").get<double>()};
  }
  return {rows.size(), [rows, fewest](std::size_t place) {
            ResultRow row = rows[place];
            if (!needs_several(row)) return row;
            const auto base = fewest.find(family_of(row));
            if (base == fewest.end()) return row;
            const double own = row.result.at("throughput_per_gpu").get<double>();
            add(row.result, {base->second.world_size, own / base->second.throughput_per_gpu});
            return row;
          }};
}

}  // namespace gradwire
