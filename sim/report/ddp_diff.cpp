#include "sim/report/ddp_diff.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/benchmark_file.hpp"

namespace gradwire {
namespace {

using Benchmark = BenchmarkFile::Benchmark;

void append_settings(std::string& text, const BenchmarkFile& a, const BenchmarkFile& b) {
  auto out = std::back_inserter(text);
  const std::string rule(20, '-');
  plain_format_to(out, "{:20} {:>20}      {:>20}\n", "", "baseline", "test");
  plain_format_to(out, "{:20} {:>20}      {:>20}\n", "", rule, rule);
  std::set<std::string> keys;
  for (const auto& [key, value] : a.settings) keys.insert(key);
  for (const auto& [key, value] : b.settings) keys.insert(key);
  const auto value_of = [](const BenchmarkFile& file, const std::string& key) {
    const auto found = file.settings.find(key);
    return found == file.settings.end() ? "-" : found->second;
  };
  for (const std::string& key : keys) {
    plain_format_to(out, "{:20} {:>20}  vs  {:>20}\n", key + ":", value_of(a, key),
                    value_of(b, key));
  }
  text += '\n';
}

void append_percentile(std::string& text, std::string_view name, double a, double b, int batch) {
  const double delta = -100 * ((b - a) / a);
  plain_format_to(std::back_inserter(text), "  {}: {:8.3f}s {:7.0f}/s {:+8.1f}%", name, b,
                  std::trunc(batch / b), delta);
}

void append_benchmark(DdpDiff& diff, const Benchmark& a, const Benchmark& b) {
  auto out = std::back_inserter(diff.text);
  plain_format_to(out, "Benchmark: {} with batch size {}\n\n{:>10}", a.model, a.batch_size, "");
  for (int i = 0; i < 2; ++i)
    plain_format_to(out, "{:>16}{:>10}{:>10}", "sec/iter", "ex/sec", "diff");
  diff.text += '\n';
  const std::size_t rows = std::min(a.rows.size(), b.rows.size());
  for (std::size_t i = 1; i < rows; ++i) {
    if (a.rows[i].ranks != b.rows[i].ranks) {
      diff.notes.push_back(plain_format("{}: row {} left out, {} ranks against {}", a.model, i,
                                        a.rows[i].ranks, b.rows[i].ranks));
      continue;
    }
    if (a.rows[i].p75 <= 0 || b.rows[i].p75 <= 0) {
      diff.notes.push_back(plain_format("{}: row {} left out, it has no measurements", a.model, i));
      continue;
    }
    plain_format_to(out, "{:>4} GPUs:", a.rows[i].ranks);
    append_percentile(diff.text, "p75", a.rows[i].p75, b.rows[i].p75, a.batch_size);
    append_percentile(diff.text, "p95", a.rows[i].p95, b.rows[i].p95, a.batch_size);
    diff.text += '\n';
  }
  diff.text += '\n';
  if (a.rows.size() != b.rows.size()) {
    diff.notes.push_back(plain_format("{}: {} rows against {}, the first {} are compared", a.model,
                                      a.rows.size(), b.rows.size(), rows));
  }
}

}  // namespace

DdpDiff ddp_diff(const std::string& baseline, const std::string& test) {
  const BenchmarkFile a = read_benchmark_file(baseline);
  const BenchmarkFile b = read_benchmark_file(test);
  DdpDiff diff;
  append_settings(diff.text, a, b);
  const std::size_t count = std::min(a.benchmarks.size(), b.benchmarks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Benchmark& left = a.benchmarks[i];
    const Benchmark& right = b.benchmarks[i];
    if (left.model == right.model && left.batch_size == right.batch_size) {
      append_benchmark(diff, left, right);
    } else {
      diff.notes.push_back(
          plain_format("benchmark {} left out: {} with batch size {} against {} with {}", i + 1,
                       left.model, left.batch_size, right.model, right.batch_size));
    }
  }
  if (a.benchmarks.size() != b.benchmarks.size()) {
    diff.notes.push_back(plain_format("{} benchmarks against {}, the first {} are compared",
                                      a.benchmarks.size(), b.benchmarks.size(), count));
  }
  return diff;
}

}  // namespace gradwire
