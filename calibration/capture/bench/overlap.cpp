#include "calibration/capture/bench/overlap.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
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

OverlapTimes beside_stand_in(Compute& compute, const Stream& stream, int blocks) {
  OverlapTimes times;
  static_cast<void>(time_compute(compute, stream, warm_up));
  const double guess = time_compute(compute, stream, warm_up);
  times.calls = static_cast<int>(measured_us / guess) + 1;
  times.compute_alone_us = time_compute(compute, stream, times.calls);

  StandIn communication(blocks);
  communication.start();
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(measured_us));
  times.rate_alone = communication.stop();

  communication.start();
  times.compute_overlapped_us = time_compute(compute, stream, times.calls);
  times.rate_overlapped = communication.stop();
  return times;
}

/// Measures beside the stand-in on one GPU, or beside NCCL on all.
class Measurement {
 public:
  Measurement(const std::string& communication, int gpus)
      : gpus_(gpus), nccl_(communication == "nccl") {}

  void begin(const std::string& kind) {
    compute_.clear();
    for (int gpu = 0; gpu < (nccl_ ? gpus_ : 1); ++gpu) {
      if (nccl_) GRADWIRE_CUDA_CHECK(cudaSetDevice(gpu));
      compute_.push_back(make_compute(kind));
    }
  }
  OverlapTimes run(int blocks) {
    if (nccl_) return overlap_with_nccl(compute_, blocks);
    const Stream stream;
    return beside_stand_in(*compute_.front(), stream, blocks);
  }

 private:
  int gpus_;
  bool nccl_;
  std::vector<std::unique_ptr<Compute>> compute_;  ///< one a GPU that takes part
};

void write_row(JsonWriter& json, const OverlapTimes& times, int blocks) {
  json.begin_object()
      .member("ctas", blocks)
      .member("n", times.calls)
      .member("compute_alone_us", times.compute_alone_us)
      .member("compute_overlapped_us", times.compute_overlapped_us)
      .member("communication_alone_bytes_per_s", times.rate_alone)
      .member("communication_overlapped_bytes_per_s", times.rate_overlapped)
      .end_object();
}

}  // namespace

int run_overlap(const std::vector<std::string>& words) {
  const Arguments arguments(
      {{"--kinds", "all", "of layers: linear, conv1, conv3, norm, act"},
       {"--ctas", "1:32:x2", "blocks that communicate"},
       {"--communication", "stand-in", "stand-in (a kernel that copies) or nccl (on all GPUs)"},
       {"--output", "overlap.json", "file"}},
      words);
  const std::vector<std::string> kinds = arguments.choices("--kinds", compute_kinds());
  const std::vector<std::int64_t> blocks = arguments.sizes("--ctas");
  const std::string communication = arguments.choices("--communication", {"stand-in", "nccl"})[0];
  const int gpus = require_devices();
  if (communication == "nccl" && gpus < 2) {
    throw NoDevice("one GPU only: NCCL needs two; expected --communication stand-in");
  }
  const DeviceInfo info = device_info(0);
  if (blocks.back() >= info.multiprocessors) {
    throw UsageError("--ctas goes to " + std::to_string(blocks.back()) +
                     "; expected fewer than the GPU's " + std::to_string(info.multiprocessors) +
                     " SMs");
  }
  Progress progress(static_cast<int>(kinds.size() * blocks.size()));
  Measurement measurement(communication, gpus);
  JsonWriter json;
  begin_record(json, "gradwire.bench.overlap/1");
  json.member("multiprocessors", info.multiprocessors).member("communication", communication);
  json.key("kinds").begin_list();
  for (const std::string& kind : kinds) {
    if (interrupted()) break;
    try {
      measurement.begin(kind);
    } catch (const DeviceError& error) {  // a node without cuDNN still measures the others
      std::fprintf(stderr, "gradwire-bench: %s is left out: %s\n", kind.c_str(), error.what());
      continue;
    }
    json.begin_object().member("kind", kind).member("work", compute_description(kind));
    json.key("rows").begin_list();
    for (const std::int64_t count : blocks) {
      progress.step(kind + " beside " + std::to_string(count) + " blocks");
      write_row(json, measurement.run(static_cast<int>(count)), static_cast<int>(count));
      if (interrupted()) break;
    }
    json.end_list().end_object();
  }
  json.end_list().end_object();
  write_whole_file(arguments.text("--output"), json.text());
  return interrupted() ? exit_interrupted : exit_done;
}

}  // namespace gradwire::calibration
