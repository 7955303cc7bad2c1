#include "sim/report/benchmark_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/result_json.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;
using FileRow = BenchmarkFile::Row;

Json parse(const std::string& path) {
  const std::string text = read_text_file(path, "a JSON result file");
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const auto end = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const std::string before = text.substr(0, end);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;
    throw ConfigError(
        {path, static_cast<int>(line), static_cast<int>(column)},
        "this is not JSON; expected a result file of the DDP benchmark or of gradwire");
  }
}

/// As Python's str() prints a value of the file.
std::string printed(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_null() ? "None" : value.dump();
}

FileRow measured_row(const Json& entry) {
  const auto seconds = entry.at("measurements").get<std::vector<double>>();
  if (seconds.empty()) return {static_cast<int>(entry.at("ranks").size()), 0, 0};
  const std::vector<double> counts(seconds.size(), 1.0);
  const PooledSamples pooled(seconds, counts);
  return {static_cast<int>(entry.at("ranks").size()), pooled.percentile(75), pooled.percentile(95)};
}

BenchmarkFile from_benchmark(const Json& json) {
  BenchmarkFile file;
  for (const auto& [key, value] : json.items()) {
    if (key != "benchmark_results") file.settings[key] = printed(value);
  }
  for (const Json& entry : json.at("benchmark_results")) {
    auto& benchmark = file.benchmarks.emplace_back();
    benchmark.model = entry.at("model").get<std::string>();
    benchmark.batch_size = entry.at("batch_size").get<int>();
    for (const Json& row : entry.at("result")) benchmark.rows.push_back(measured_row(row));
  }
  return file;
}

BenchmarkFile from_results(std::span<const Json> results) {
  BenchmarkFile file;
  for (const Json& entry : results) {
    if (entry.contains("error")) continue;
    file.settings["gradwire_version"] = printed(entry.at("gradwire_version"));
    const auto model = entry.at("model").get<std::string>();
    const int batch = entry.at("batch_per_gpu").get<int>();
    const bool no_ddp = entry.at("strategy") == "none" && entry.at("world_size") == 1;
    if (!no_ddp) file.settings["strategy"] = printed(entry.at("strategy"));
    if (file.benchmarks.empty() || file.benchmarks.back().model != model ||
        file.benchmarks.back().batch_size != batch) {
      file.benchmarks.push_back({model, batch, {}});
      // The first row is the one without DDP; a file that does not have it keeps its place.
      if (!no_ddp) file.benchmarks.back().rows.push_back({1, 0, 0});
    }
    const Json& time = entry.at("iteration_time_s");
    file.benchmarks.back().rows.push_back(
        {entry.at("world_size").get<int>(), time.at("p75").get<double>(), time.at("p95")});
  }
  return file;
}

}  // namespace

BenchmarkFile read_benchmark_file(const std::string& path) {
  const Json json = parse(path);
  try {
    const std::string schema = json.is_object() ? json.value("schema", "") : "";
    if (schema == results_schema) {
      return from_results(json.at("results").get_ref<const Json::array_t&>());
    }
    if (schema == result_schema) return from_results({&json, 1});
    if (json.is_object() && json.contains("benchmark_results")) return from_benchmark(json);
  } catch (const Json::exception& error) {
    throw ConfigError({path, 0, 0},
                      fmt::format("this result file is not complete: {}; expected the "
                                  "entries that the DDP benchmark or gradwire writes",
                                  error.what()));
  }
  throw ConfigError(
      {path, 0, 0},
      "this is not a result file; expected 'benchmark_results' (the DDP benchmark) or "
      "schema gradwire.result/1 or gradwire.results/1");
}

}  // namespace gradwire
