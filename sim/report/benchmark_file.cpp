#include "sim/report/benchmark_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"
#include "sim/core/statistics.hpp"
#include "sim/core/text_file.hpp"
#include "sim/report/result_json.hpp"

namespace gradwire {
namespace {

using Unordered = nlohmann::json;
using FileRow = BenchmarkFile::Row;

/// Objects and lists inside each other.
std::size_t depth_of(const std::string& text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quoted && letter == '\\') {
      ++i;  // what is escaped ends no text
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && (letter == '{' || letter == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!quoted && (letter == '}' || letter == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

/// An entry is not there, or says what none can.
struct BadEntry {
  std::string what;
};

const Unordered& member(const Unordered& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) {
    throw BadEntry{fmt::format("this result file is not complete: it has no '{}'", name)};
  }
  return object.at(name);
}

int count_of(const Unordered& object, const char* name) {
  const Unordered& value = member(object, name);
  constexpr int most = std::numeric_limits<int>::max();
  if (!value.is_number_unsigned() || value < 1 || value > most) {
    throw BadEntry{fmt::format("'{}' of this result file is {}, no count from 1 to {}", name,
                               value.dump(), most)};
  }
  return value.get<int>();
}

Unordered parse(const std::string& path) {
  const std::string text = read_text_file(path, "a JSON result file", json_bytes);
  // Whoever prints a value goes as deep as it is nested.
  if (depth_of(text) > json_depth.most) {
    throw ConfigError({path, 1, 1}, over(json_depth) + "; expected a result file");
  }
  try {
    return Unordered::parse(text);
  } catch (const Unordered::exception& error) {
    // Beside what is no JSON there are numbers that no double holds; those have no place.
    const auto* const parse = dynamic_cast<const Unordered::parse_error*>(&error);
    const std::size_t byte = parse == nullptr ? 0 : parse->byte;
    const auto end = std::min(byte > 0 ? byte - 1 : 0, text.size());
    const std::string before = text.substr(0, end);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;
    throw ConfigError(
        {path, static_cast<int>(line), static_cast<int>(column)},
        "this is not JSON; expected a result file of the DDP benchmark or of gradwire");
  }
}

/// As Python's str() prints a value of the file.
std::string printed(const Unordered& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_null() ? "None" : value.dump();
}

FileRow measured_row(const Unordered& entry) {
  const auto seconds = member(entry, "measurements").get<std::vector<double>>();
  if (seconds.empty()) return {static_cast<int>(member(entry, "ranks").size()), 0, 0};
  const std::vector<double> counts(seconds.size(), 1.0);
  const PooledSamples pooled(seconds, counts);
  return {static_cast<int>(member(entry, "ranks").size()), pooled.percentile(75),
          pooled.percentile(95)};
}

BenchmarkFile from_benchmark(const Unordered& json) {
  BenchmarkFile file;
  for (const auto& [key, value] : json.items()) {
    if (key != "benchmark_results") file.settings[key] = printed(value);
  }
  for (const Unordered& entry : member(json, "benchmark_results")) {
    auto& benchmark = file.benchmarks.emplace_back();
    benchmark.model = member(entry, "model").get<std::string>();
    benchmark.batch_size = count_of(entry, "batch_size");
    for (const Unordered& row : member(entry, "result"))
      benchmark.rows.push_back(measured_row(row));
  }
  return file;
}

BenchmarkFile from_results(std::span<const Unordered> results) {
  BenchmarkFile file;
  for (const Unordered& entry : results) {
    if (entry.contains("error")) continue;
    file.settings["gradwire_version"] = printed(member(entry, "gradwire_version"));
    const auto model = member(entry, "model").get<std::string>();
    const int batch = count_of(entry, "batch_per_gpu");
    const bool no_ddp = member(entry, "strategy") == "none" && member(entry, "world_size") == 1;
    if (!no_ddp) file.settings["strategy"] = printed(member(entry, "strategy"));
    if (file.benchmarks.empty() || file.benchmarks.back().model != model ||
        file.benchmarks.back().batch_size != batch) {
      file.benchmarks.push_back({model, batch, {}});
      // The first row is the one without DDP; a file that does not have it keeps its place.
      if (!no_ddp) file.benchmarks.back().rows.push_back({1, 0, 0});
    }
    const Unordered& time = member(entry, "iteration_time_s");
    file.benchmarks.back().rows.push_back(
        {count_of(entry, "world_size"), member(time, "p75").get<double>(), member(time, "p95")});
  }
  return file;
}

}  // namespace

BenchmarkFile read_benchmark_file(const std::string& path) {
  const Unordered json = parse(path);
  try {
    const std::string schema = json.is_object() ? json.value("schema", "") : "";
    if (schema == results_schema) {
      return from_results(member(json, "results").get_ref<const Unordered::array_t&>());
    }
    if (schema == result_schema) return from_results({&json, 1});
    if (json.is_object() && json.contains("benchmark_results")) return from_benchmark(json);
  } catch (const BadEntry& bad) {
    throw ConfigError(
        {path, 0, 0},
        bad.what + "; expected the entries that the DDP benchmark or gradwire writes");
  } catch (const Unordered::exception&) {
    throw ConfigError({path, 0, 0},
                      "an entry of this result file is of another type than it should be; "
                      "expected the entries that the DDP benchmark or gradwire writes");
  }
  throw ConfigError(
      {path, 0, 0},
      "this is not a result file; expected 'benchmark_results' (the DDP benchmark) or "
      "schema gradwire.result/1 or gradwire.results/1");
}

}  // namespace gradwire
