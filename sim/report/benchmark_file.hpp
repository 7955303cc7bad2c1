#pragma once

#include <map>
#include <string>
#include <vector>

namespace gradwire {

/// A result file reduced to what a comparison needs, whichever program wrote it.
struct BenchmarkFile {
  struct Row {
    int ranks = 0;
    double p75 = 0;  ///< seconds
    double p95 = 0;
  };
  struct Benchmark {
    std::string model;
    int batch_size = 0;
    std::vector<Row> rows;  ///< [0] is the run without DDP
  };
  std::map<std::string, std::string> settings;  ///< sorted, as the benchmark's diff prints them
  std::vector<Benchmark> benchmarks;
};

/// Reads the PyTorch DDP benchmark's JSON, or our gradwire.result/1 and gradwire.results/1.
/// @throws ConfigError with the place in the file, or naming the entry that is wrong.
[[nodiscard]] BenchmarkFile read_benchmark_file(const std::string& path);

}  // namespace gradwire
