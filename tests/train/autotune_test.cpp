#include <memory>
#include <numeric>
#include <utility>

#include "strategies/horovod/horovod.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Horovod's autotune of whole jobs: the six-layer network of toy_training.hpp on four machines.

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// As many iterations behind one as a sample has.
ToyTraining sampled(double slower, Seconds host_launch) {
  ToyTraining toy(1, 4);
  toy.cost = std::make_shared<AlphaBeta>(slower);
  toy.profile.host_launch = host_launch;
  toy.warmup = 1;
  toy.iterations = AutotuneOptions{}.steps_per_sample;
  return toy;
}

double mean_of(const ToyTraining& toy, const HorovodOptimizerOptions& options) {
  const auto times = toy.run(make<Horovod>(options));
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

/// Of equal length but for the last bits.
constexpr double rounding = 1 + 1e-9;

}  // namespace

TEST_CASE("with no noise Horovod's autotune ends no worse than what it tries, nor than the default",
          "[horovod][autotune]") {
  // A launcher far ahead of the GPU, and one beside it, where the hooks' times decide what fuses.
  const Seconds host_launch = GENERATE(Seconds{0}, Seconds{2e-3});
  const double slower = GENERATE(1.0, 4.0);
  const ToyTraining toy = sampled(slower, host_launch);
  HorovodOptimizerOptions tuned;
  tuned.autotune.on = true;
  const double at_best = mean_of(toy, tuned);
  CHECK(at_best <= rounding * mean_of(toy, {}));
  for (const auto& [mebibytes, milliseconds] :
       {std::pair{4, 5}, std::pair{32, 50}, std::pair{16, 25}, std::pair{8, 10}}) {
    for (const std::int64_t cache : {0, 1024}) {
      HorovodOptimizerOptions tried;
      tried.core.fusion_threshold = Bytes{mebibytes * 1024LL * 1024};
      tried.core.cycle_time = Seconds{1e-3 * milliseconds};
      tried.core.cache_capacity = cache;
      CHECK(at_best <= rounding * mean_of(toy, tried));
    }
  }
}

TEST_CASE("an iteration under another strategy is timed by the model of the run, without noise",
          "[horovod][autotune]") {
  // The launcher beside the GPU, cycles of 6.1: the mean of what timelines_horovod_test.cpp has.
  const ToyTraining toy = sampled(1, Seconds{2e-3});
  HorovodOptimizerOptions options;
  options.core.cycle_time = Seconds{6.1e-3};
  options.core.hook_time = Seconds{0};
  options.core.request_time = Seconds{0};
  options.core.local_latency = Seconds{0};
  const auto none = make<Horovod>(HorovodOptimizerOptions{});
  const RingLibrary library = toy.library();
  Job job = toy.job(none, library);
  job.jitter.iteration = 0.5;
  job.jitter.layer = 0.5;
  const JobView view = job_view(job);
  CHECK(view.iteration_time(std::make_unique<Horovod>(options, view), 4).count() ==
        Approx((30.5 + 30.4625 + 32.5125 + 30.9875) / 4 * 1e-3).epsilon(timeline_tolerance));
}
