#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "calibration/capture/bench/overlap.hpp"
#include "calibration/capture/bench/rank_group.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t message_elements = 16UL << 20;
constexpr int warm_up = 10;
constexpr double measured_us = 20'000;

/// The streams of the work, and what is launched on them.
class Workers {
 public:
  explicit Workers(const std::vector<std::unique_ptr<Compute>>& compute) : compute_(compute) {
    for (std::size_t gpu = 0; gpu < compute.size(); ++gpu) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu)));
      streams_.emplace_back();
      timers_.emplace_back();
    }
  }
  void launch(int calls) {
    for (std::size_t gpu = 0; gpu < compute_.size(); ++gpu) {
      GRADWIRE_CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu)));
      timers_[gpu].start(streams_[gpu].get());
      for (int i = 0; i < calls; ++i) compute_[gpu]->launch(streams_[gpu].get());
      timers_[gpu].stop(streams_[gpu].get());
    }
  }
  /// Waits. @return microseconds of a call, on the slowest GPU
  [[nodiscard]] double mean_us(int calls) const {
    double slowest = 0;
    for (const StreamTimer& timer : timers_) slowest = std::max(slowest, timer.elapsed_us());
    return slowest / calls;
  }

 private:
  const std::vector<std::unique_ptr<Compute>>& compute_;
  std::vector<Stream> streams_;
  std::vector<StreamTimer> timers_;
};

void launch_all_reduces(RankGroup& group, int calls) {
  for (RankGroup::Rank& rank : group.local()) {
    GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
    rank.timer.start(rank.stream.get());
  }
  for (int i = 0; i < calls; ++i) {
    group.nccl().group_begin();
    for (const RankGroup::Rank& rank : group.local()) {
      group.nccl().all_reduce(rank.send.data(), rank.receive.data(), message_elements, rank.comm,
                              rank.stream.get());
    }
    group.nccl().group_end();
  }
  for (RankGroup::Rank& rank : group.local()) {
    GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
    rank.timer.stop(rank.stream.get());
  }
}

/// Waits. @return microseconds of an all-reduce, on the slowest GPU
double mean_us(RankGroup& group, int calls) {
  double slowest = 0;
  for (const RankGroup::Rank& rank : group.local()) {
    slowest = std::max(slowest, rank.timer.elapsed_us());
  }
  return slowest / calls;
}

int calls_for(double duration_us, double call_us) {
  return static_cast<int>(duration_us / call_us) + 1;
}

}  // namespace

OverlapTimes overlap_with_nccl(const std::vector<std::unique_ptr<Compute>>& compute, int blocks) {
  // NCCL reads both when a communicator begins (2.17 and later; the documentation's environment
  // variables).
  setenv("NCCL_MIN_CTAS", std::to_string(blocks).c_str(), 1);
  setenv("NCCL_MAX_CTAS", std::to_string(blocks).c_str(), 1);
  const NcclApi nccl;
  std::vector<int> devices(compute.size());
  std::iota(devices.begin(), devices.end(), 0);
  RankGroup group(nccl, nccl.make_id(), static_cast<int>(devices.size()), 0, devices,
                  message_elements);
  Workers workers(compute);

  const auto time_compute = [&](int calls) {
    workers.launch(calls);
    return workers.mean_us(calls);
  };
  const auto time_communication = [&](int calls) {
    launch_all_reduces(group, calls);
    return mean_us(group, calls);
  };
  static_cast<void>(time_compute(warm_up));
  static_cast<void>(time_communication(warm_up));
  OverlapTimes times;
  times.calls = calls_for(measured_us, time_compute(warm_up));
  times.compute_alone_us = time_compute(times.calls);
  const int messages = calls_for(measured_us, time_communication(warm_up));
  const double message_alone_us = time_communication(messages);

  // Twice as much of the one as the other takes, and the other is covered from end to end; only
  // its time counts. Both slow down by less than that.
  constexpr int covering = 2;
  launch_all_reduces(group, covering * messages);
  times.compute_overlapped_us = time_compute(times.calls);
  group.wait();
  workers.launch(covering * times.calls);
  const double message_overlapped_us = time_communication(messages);
  static_cast<void>(workers.mean_us(times.calls));

  const auto bytes = static_cast<double>(message_elements * sizeof(float));
  times.rate_alone = bytes / message_alone_us * 1e6;
  times.rate_overlapped = bytes / message_overlapped_us * 1e6;
  return times;
}

}  // namespace gradwire::calibration
