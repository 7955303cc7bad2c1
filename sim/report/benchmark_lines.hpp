#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/point.hpp"

namespace gradwire {

/// What the original benchmarks print: samples per second of one GPU, once for each of their
/// "iterations" of 10 batches, and the mean with 1.96 standard deviations (of the population).
/// Source: num-batches-per-iter and the last lines of horovod's
/// examples/pytorch/pytorch_synthetic_benchmark.py, which all of them began as.
struct BenchmarkRates {
  std::vector<double> rates;  ///< the last one of fewer batches where 10 do not divide them
  double mean = 0;
  double confidence = 0;
};

/// REQUIRES: at least one measured iteration.
[[nodiscard]] BenchmarkRates benchmark_rates(const RunResult& result);

/// 1.96 standard deviations of the population. REQUIRES: not empty.
[[nodiscard]] double confidence_of(const std::vector<double>& values);

/// The text of a value in the scenario as written, by dotted key; "" where it is not there.
[[nodiscard]] std::string written_in_scenario(const Point& point, const std::string& key);

/// Which benchmark's lines to print.
enum class LineFormat : std::uint8_t { horovod, kungfu, ddl_benchmarks };

/// What a benchmark calls its samples: "Iter #0: 1.0 img/sec", "Img/sec", "Total img/sec".
struct RateWords {
  std::string_view each;
  std::string_view mean;
  std::string_view total;
};
inline constexpr RateWords image_words{"img", "Img", "img"};
inline constexpr RateWords sentence_words{"sentences", "Sen", "sen"};

/// From the first iteration's line on. @param before_mean  lines behind the iterations'.
[[nodiscard]] std::string rate_lines(const Point& point, const RateWords& words,
                                     const std::string& before_mean = "");

/// As bert_benchmark.py of ddl-benchmarks and of ACP-SGD. @param before_mean  as rate_lines'.
[[nodiscard]] std::string bert_lines(const Point& point, const std::string& before_mean = "");

/// A point as horovod's pytorch_synthetic_benchmark.py prints it.
[[nodiscard]] std::string horovod_lines(const Point& point);

/// A point as KungFu's benchmark_kungfu.py prints it, with its `RESULT:` line.
[[nodiscard]] std::string kungfu_lines(const Point& point);

/// A point as ddl-benchmarks' imagenet_benchmark.py prints it, or for BERT bert_benchmark.py.
[[nodiscard]] std::string ddl_benchmarks_lines(const Point& point);

/// All points, one after the other.
[[nodiscard]] std::string benchmark_lines(std::span<const Point> points, LineFormat format);

}  // namespace gradwire
