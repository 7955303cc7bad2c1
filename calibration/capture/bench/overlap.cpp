#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/compute.hpp"
#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/progress.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

constexpr int warm_up = 10;
/// Long beside the microseconds in which one of the two runs alone.
constexpr double measured_us = 20'000;

/// The mean time of a kernel's run. @return microseconds
double time_compute(Compute& compute, const Stream& stream, int calls) {
  return time_pipelined(stream, {0, calls}, [&] { compute.launch(stream.get()); });
}

void write_row(JsonWriter& json, Compute& compute, const Stream& stream, int blocks) {
  static_cast<void>(time_compute(compute, stream, warm_up));
  const double guess = time_compute(compute, stream, warm_up);
  const int calls = static_cast<int>(measured_us / guess) + 1;
  const double alone = time_compute(compute, stream, calls);

  StandIn communication(blocks);
  communication.start();
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(measured_us));
  const double rate_alone = communication.stop();

  communication.start();
  const double overlapped = time_compute(compute, stream, calls);
  const double rate_overlapped = communication.stop();

  json.begin_object()
      .member("ctas", blocks)
      .member("n", calls)
      .member("compute_alone_us", alone)
      .member("compute_overlapped_us", overlapped)
      .member("communication_alone_bytes_per_s", rate_alone)
      .member("communication_overlapped_bytes_per_s", rate_overlapped)
      .end_object();
}

}  // namespace

int run_overlap(const std::vector<std::string>& words) {
  const Arguments arguments({{"--kinds", "all", "of layers: linear, conv1, conv3, norm, act"},
                             {"--ctas", "1:32:x2", "blocks that communicate"},
                             {"--gpu", "0", "index"},
                             {"--output", "overlap.json", "file"}},
                            words);
  const std::vector<std::string> kinds = arguments.choices("--kinds", compute_kinds());
  const std::vector<std::int64_t> blocks = arguments.sizes("--ctas");
  const int gpu = static_cast<int>(arguments.whole("--gpu", 0));
  static_cast<void>(require_devices());
  GRADWIRE_CUDA_CHECK(cudaSetDevice(gpu));
  const DeviceInfo info = device_info(gpu);
  if (blocks.back() >= info.multiprocessors) {
    throw UsageError("--ctas goes to " + std::to_string(blocks.back()) +
                     "; expected fewer than the GPU's " + std::to_string(info.multiprocessors) +
                     " SMs");
  }
  Progress progress(static_cast<int>(kinds.size() * blocks.size()));
  JsonWriter json;
  begin_record(json, "gradwire.bench.overlap/1");
  json.member("multiprocessors", info.multiprocessors).member("communication", "stand-in copy");
  json.key("kinds").begin_list();
  for (const std::string& kind : kinds) {
    if (interrupted()) break;
    std::unique_ptr<Compute> compute;
    try {
      compute = make_compute(kind);
    } catch (const DeviceError& error) {  // a node without cuDNN still measures the others
      std::fprintf(stderr, "gradwire-bench: %s is left out: %s\n", kind.c_str(), error.what());
      continue;
    }
    const Stream stream;
    json.begin_object().member("kind", kind).member("work", compute_description(kind));
    json.key("rows").begin_list();
    for (const std::int64_t count : blocks) {
      progress.step(kind + " beside " + std::to_string(count) + " blocks");
      write_row(json, *compute, stream, static_cast<int>(count));
      if (interrupted()) break;
    }
    json.end_list().end_object();
  }
  json.end_list().end_object();
  write_whole_file(arguments.text("--output"), json.text());
  return interrupted() ? exit_interrupted : exit_done;
}

}  // namespace gradwire::calibration
