// What a range costs the program that the recorder records.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "calibration/capture/inject/clock.hpp"
#include "calibration/capture/inject/recorder.hpp"

namespace {

using gradwire::calibration::monotonic_ns;
using gradwire::calibration::Recorder;
using gradwire::calibration::Settings;

/// Batches of ranges with pauses between them, in which the writer keeps up: a dropped range would
/// be cheaper than a recorded one.
void push_and_pop(benchmark::State& state) {
  constexpr int batch = 2000;
  Settings settings;
  settings.folder = std::filesystem::temp_directory_path();
  Recorder recorder(settings, {});
  for (auto _ : state) {
    const auto begin = monotonic_ns();
    for (int range = 0; range < batch; ++range) {
      recorder.push(0, "aten::conv2d, seq = 12345, op_id = 99", 0);
      recorder.pop(0);
    }
    state.SetIterationTime(static_cast<double>(monotonic_ns() - begin) * 1e-9 / batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  recorder.finish();
  std::filesystem::remove(recorder.path());
}
BENCHMARK(push_and_pop)->UseManualTime()->Iterations(100)->Unit(benchmark::kNanosecond);

}  // namespace

BENCHMARK_MAIN();
