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
