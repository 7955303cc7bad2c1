#include "sim/report/benchmark_lines.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "sim/core/statistics.hpp"

namespace gradwire {
namespace {

constexpr std::size_t batches_per_iteration = 10;
constexpr double normal_95 = 1.96;  ///< standard deviations on each side

}  // namespace

BenchmarkRates benchmark_rates(const RunResult& result) {
  assert(!result.iteration_s.empty());
  BenchmarkRates rates;
  const std::size_t count = result.iteration_s.size();
  for (std::size_t begin = 0; begin < count; begin += batches_per_iteration) {
    const std::size_t batches = std::min(batches_per_iteration, count - begin);
    double seconds = 0;
    for (std::size_t i = begin; i < begin + batches; ++i) seconds += result.iteration_s[i];
    rates.rates.push_back(result.batch_per_gpu * result.micro_batches *
                          static_cast<double>(batches) / seconds);
  }
  rates.mean = mean(rates.rates);
  const auto lines = static_cast<double>(rates.rates.size());
  // Of the population, as numpy's std.
  rates.confidence = normal_95 * stdev(rates.rates) * std::sqrt((lines - 1) / lines);
  return rates;
}

std::string written_in_scenario(const Point& point, const std::string& key) {
  if (point.scenario_json.empty()) return "";
  nlohmann::json value = nlohmann::json::parse(point.scenario_json);
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    const std::string name = key.substr(begin, dot - begin);
    if (!value.is_object() || !value.contains(name)) return "";
    value = nlohmann::json(value.at(name));
    begin = dot + 1;
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string benchmark_lines(std::span<const Point> points, LineFormat format) {
  std::string text;
  for (const Point& point : points) {
    switch (format) {
      case LineFormat::horovod:
        text += horovod_lines(point);
        break;
      case LineFormat::kungfu:
        text += kungfu_lines(point);
        break;
      case LineFormat::ddl_benchmarks:
        text += ddl_benchmarks_lines(point);
        break;
    }
  }
  return text;
}

}  // namespace gradwire
