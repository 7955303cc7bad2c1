#include "sim/report/ddp_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include "sim/report/groups.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

/// The benchmark's default of --bucket-size, in MiB.
constexpr int default_bucket_size = 25;

std::vector<double> measurements(const RunResult& result) {
  const PooledSamples pooled(result.samples, result.sample_weight);
  std::vector<double> list;
  if (pooled.size() > ddp_measurements_max) {
    for (std::int64_t i = 0; i < ddp_measurements_max; ++i) {
      const double step = 100.0 / static_cast<double>(ddp_measurements_max - 1);
      list.push_back(pooled.percentile(std::min(100.0, static_cast<double>(i) * step)));
    }
    return list;
  }
  for (std::size_t i = 0; i < result.samples.size(); ++i) {
    list.insert(list.end(), static_cast<std::size_t>(std::llround(result.sample_weight[i])),
                result.samples[i]);
  }
  return list;
}

Json row(int ranks, const std::vector<double>& seconds) {
  std::vector<int> rank_list(static_cast<std::size_t>(ranks));
  std::iota(rank_list.begin(), rank_list.end(), 0);
  return {{"ranks", rank_list}, {"measurements", seconds}};
}

Json rows(std::span<const Point> points) {
  Json list = Json::array();
  if (!is_no_ddp(points.front())) {
    list.push_back(row(1, {points.front().result.single_gpu_iteration_s}));
  }
  for (const Point& point : points) {
    list.push_back(row(point.result.world_size, measurements(point.result)));
  }
  return list;
}

/// The point that stands for the file's settings: the first one that communicates.
const Point& typical(std::span<const Point> points) {
  const auto found =
      std::find_if(points.begin(), points.end(), [](const Point& p) { return !is_no_ddp(p); });
  return found == points.end() ? points.front() : *found;
}

/// `key` of the scenario's object `section`, null when it is not written.
Json written(const Json& scenario, const char* section, const char* key) {
  const auto found = scenario.find(section);
  if (found == scenario.end() || !found->is_object()) return nullptr;
  return found->value(key, Json(nullptr));
}

/// "25 MiB" -> 25, as the benchmark's --bucket-size counts; any other unit stays as written.
Json bucket_size(const Json& cap, const std::string& strategy) {
  if (cap.is_null()) return strategy == "ddp" ? Json(default_bucket_size) : Json("-");
  if (!cap.is_string()) return cap;
  const auto& text = cap.get_ref<const std::string&>();
  long count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  return error == std::errc{} && (unit == " MiB" || unit == "MiB") ? Json(count) : cap;
}

}  // namespace

nlohmann::ordered_json ddp_json(std::span<const Point> points) {
  Json benchmarks = Json::array();
  for (const std::span<const Point> group : benchmark_groups(points)) {
    benchmarks.push_back({{"model", group.front().model},
                          {"batch_size", group.front().result.batch_per_gpu},
                          {"result", rows(group)}});
  }
  const Point& point = typical(points);
  const Json scenario =
      point.scenario_json.empty() ? Json::object() : Json::parse(point.scenario_json);
  const Json version = written(scenario, "strategy", "version");
  const Json library = written(scenario, "collective", "library");
  return {{"pytorch_version",
           fmt::format("{} (gradwire {})",
                       version.is_string() ? version.get<std::string>() : point.strategy,
                       gradwire_version)},
          {"cuda_version", "-"},
          {"distributed_backend", library.is_string() ? library : Json("nccl")},
          {"bucket_size", bucket_size(written(scenario, "strategy", "bucket_cap"), point.strategy)},
          {"benchmark_results", benchmarks}};
}

}  // namespace gradwire
