// Reading and attributing a trace of PyTorch's profiler; budget: 40 MB in under 2 s and 300 MB.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "calibration/import/compressed_file.hpp"
#include "calibration/import/kineto.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t size_wanted = 40'000'000;

/// The published trace of ResNet-50 on a V100 with its events repeated; "" where it is not there.
std::string large_trace() {
  const auto file = std::filesystem::path(GRADWIRE_SOURCE_DIR).parent_path() /
                    "shared/data/traces/"
                    "hta_ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
  if (!std::filesystem::exists(file)) return "";
  const std::string text = read_compressed(file.string(), "a trace");
  const std::string key = "\"traceEvents\": [";
  const std::size_t begin = text.find(key) + key.size();
  const std::size_t end = text.rfind(']', text.find("\"INFO\""));
  const std::string events = text.substr(begin, end - begin);
  std::string large = text.substr(0, begin);
  while (large.size() + events.size() < size_wanted) large += events + ",";
  return large + events + text.substr(end);
}

/// Highest resident memory of the process so far, MB.
double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1e-3 * static_cast<double>(usage.ru_maxrss);
}

void read_large(benchmark::State& state) {
  const auto path = std::filesystem::temp_directory_path() / "gradwire_kineto_bench.json";
  std::size_t size = 0;
  {
    const std::string text = large_trace();
    if (text.empty()) {
      state.SkipWithError("the public traces are not beside the repository");
      return;
    }
    size = text.size();
    std::ofstream(path, std::ios::binary) << text;
  }
  for ([[maybe_unused]] auto unused : state) benchmark::DoNotOptimize(read_kineto(path.string()));
  state.SetBytesProcessed(static_cast<std::int64_t>(size) * state.iterations());
  state.counters["file_MB"] = 1e-6 * static_cast<double>(size);
  state.counters["peak_MB"] = peak_memory();  // with what made the file
  std::filesystem::remove(path);
}
BENCHMARK(read_large)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gradwire::calibration

BENCHMARK_MAIN();
