#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/dithering.hpp"
#include "calibration/capture/bench/hash.hpp"
#include "calibration/capture/bench/progress.hpp"
#include "calibration/capture/bench/samples.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

constexpr int warm_up = 2;
constexpr int timed = 20;

/// Calls one behind the other: on a CPU none runs ahead, so that the usual call's time, the median,
/// is the pipelined one.
template <class Call>
void write_times(JsonWriter& json, const char* name, const Call& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = -warm_up; i < timed; ++i) {
    const auto begin = Clock::now();
    call();
    const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
    if (i >= 0) times.push_back(time.count());
  }
  const SampleSummary summary = summarise(std::move(times));
  json.key(name).begin_object();
  write_summary(json, summary);
  json.member("pipelined_us", summary.p50).end_object();
}

void write_row(JsonWriter& json, std::int64_t elements, int levels) {
  constexpr std::uint32_t seed = 1;
  std::vector<float> gradient(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = gradient_value(static_cast<std::uint32_t>(i), seed);
  }
  std::vector<float> restored(gradient.size());
  Dithered coded;
  json.begin_object().member("elements", elements);
  write_times(json, "encode", [&] { dither(gradient, levels, seed, coded); });
  write_times(json, "decode", [&] { undither(coded, levels, restored); });
  json.end_object();
}

}  // namespace

int run_compressors_cpu(const std::vector<std::string>& words) {
  const Arguments arguments(
      {{"--elements", "64KiB:16MiB:x2", "numbers of fp32 elements, 1Ki = 1024"},
       {"--levels", "4", "of dithering"},
       {"--output", "compressors_cpu.json", "file"}},
      words);
  const std::vector<std::int64_t> sizes = arguments.sizes("--elements");
  const int levels = static_cast<int>(arguments.whole("--levels", 1));

  Progress progress(static_cast<int>(sizes.size()));
  JsonWriter json;
  json.begin_object()
      .member("schema", "gradwire.bench.compressors/1")
      .member("tool", tool_name())
      .member("date", today())
      .member("node", host_name())
      .member("device", "cpu")
      .member("implementation", "kernels");
  json.key("tables").begin_list().begin_object();
  json.member("compressor", "dithering")
      .member("settings", std::to_string(levels) + " levels, one thread")
      .key("rows")
      .begin_list();
  for (const std::int64_t elements : sizes) {
    progress.step("dithering, " + std::to_string(elements) + " elements");
    write_row(json, elements, levels);
    if (interrupted()) break;
  }
  json.end_list().end_object().end_list().end_object();
  write_whole_file(arguments.text("--output"), json.text());
  return interrupted() ? exit_interrupted : exit_done;
}

}  // namespace gradwire::calibration
