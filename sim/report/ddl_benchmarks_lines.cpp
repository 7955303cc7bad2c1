#include <fmt/format.h>

#include <cstddef>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/benchmark_lines.hpp"

namespace gradwire {
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

std::string bert_lines(const Point& point) {
  const BenchmarkRates rates = benchmark_rates(point.result);
  const int gpus = point.result.world_size;
  // The original says "Large" for both.
  std::string text = plain_format(
      "Running warmup...\nBERT Large Pretraining, Sentence len: {}\nRunning benchmark...\n",
      length_of(point));
  for (std::size_t i = 0; i < rates.rates.size(); ++i) {
    text += plain_format("Iter #{}: {:.1f} sentences/sec per GPU\n", i, rates.rates[i]);
  }
  return text + plain_format(
                    "Sen/sec per GPU: {:.1f} +-{:.1f}\n"
                    "Total sen/sec on {} GPU(s): {:.1f} +-{:.1f}\n",
                    rates.mean, rates.confidence, gpus, gpus * rates.mean, gpus * rates.confidence);
}

}  // namespace

std::string ddl_benchmarks_lines(const Point& point) {
  return point.model.starts_with("bert") ? bert_lines(point) : horovod_lines(point);
}

}  // namespace gradwire
