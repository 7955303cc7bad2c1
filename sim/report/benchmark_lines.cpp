#include "sim/report/benchmark_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "sim/core/outgoing_text.hpp"
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
  rates.confidence = confidence_of(rates.rates);
  return rates;
}

double confidence_of(const std::vector<double>& values) {
  // Of the population, as numpy's std.
  const auto count = static_cast<double>(values.size());
  return normal_95 * stdev(values) * std::sqrt((count - 1) / count);
}

std::string rate_lines(const Point& point, const RateWords& words, const std::string& before_mean) {
  const BenchmarkRates rates = benchmark_rates(point.result);
  const int gpus = point.result.world_size;
  std::string text;
  for (std::size_t i = 0; i < rates.rates.size(); ++i) {
    text += fmt::format("Iter #{}: {:.1f} {}/sec per GPU\n", i, rates.rates[i], words.each);
  }
  return text + before_mean +
         fmt::format(
             "{}/sec per GPU: {:.1f} +-{:.1f}\nTotal {}/sec on {} GPU(s): {:.1f} +-{:.1f}\n",
             words.mean, rates.mean, rates.confidence, words.total, gpus, gpus * rates.mean,
             gpus * rates.confidence);
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

std::string horovod_lines(const Point& point) {
  return plain_format(
             "Model: {}\nBatch size: {}\nNumber of GPUs: {}\n"
             "Running warmup...\nRunning benchmark...\n",
             point.model, point.result.batch_per_gpu, point.result.world_size) +
         rate_lines(point, image_words);
}

namespace {

/// Where a scenario does not tell: the analytic profiles' default, or with `dnn` the scripts'.
constexpr const char* sentence_length = "128";
constexpr const char* script_length = "64";

std::string length_of(const Point& point) {
  for (const char* key : {"strategy.senlen", "profile.sequence_length"}) {
    std::string written = written_in_scenario(point, key);
    if (!written.empty()) return written;
  }
  return written_in_scenario(point, "strategy.dnn").empty() ? sentence_length : script_length;
}

}  // namespace

std::string bert_lines(const Point& point, const std::string& before_mean) {
  // The original says "Large" for both.
  return plain_format(
             "Running warmup...\nBERT Large Pretraining, Sentence len: {}\n"
             "Running benchmark...\n",
             length_of(point)) +
         rate_lines(point, sentence_words, before_mean);
}

std::string ddl_benchmarks_lines(const Point& point) {
  return point.model.starts_with("bert") ? bert_lines(point) : horovod_lines(point);
}

}  // namespace gradwire
