#include "sim/train/timed_under.hpp"

#include "sim/config/yaml/yaml_knobs.hpp"
#include "sim/core/refusal.hpp"
#include "sim/train/training.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/servers/ps_async.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// One GPU, whose memory is so slow that DDP's copies of 6 MB of gradients take milliseconds.
struct OneGpu {
  OneGpu() : toy(1) { toy.gpu.memory_bandwidth = BytesPerSecond{10e9}; }

  [[nodiscard]] Seconds takes(const ComputeProfile& profile,
                              const StrategyFactory& strategy) const {
    ToyTraining other = toy;
    other.profile = profile;
    const auto library = other.library();
    const Job job = other.job(strategy, library);
    return steady_iteration(job, strategy(job_view(job)), 3);
  }

  ToyTraining toy;
};

}  // namespace

TEST_CASE("compute that takes what was told under a strategy is found again from that time",
          "[train][profile]") {
  OneGpu one;
  config::KnobList defaults;
  const StrategyFactory ddp = Ddp::read(defaults);
  one.toy.micro_batches = GENERATE(1, 4);
  const Seconds told = one.takes(one.toy.profile, ddp);
  const double bare = 1e-3 * (18 * one.toy.micro_batches + 1);
  REQUIRE(told.count() > 1.02 * bare);  // else there is nothing to take off
  ToyTraining scaled = one.toy;
  scaled.profile = scaled_to(one.toy.profile, 3 * one.toy.profile.iteration);
  const auto library = scaled.library();
  const ComputeProfile found =
      profile_timed_under(scaled.job(ddp, library), ddp, one.toy.micro_batches, told);
  CHECK(found.iteration.count() == Approx(19e-3).epsilon(1e-5));
  CHECK(found.optimizer.count() == Approx(1e-3).epsilon(1e-5));
}

TEST_CASE("compute is found where the strategy takes nine tenths of the iteration",
          "[train][profile]") {
  const OneGpu one;
  config::KnobList defaults;
  const StrategyFactory ddp = Ddp::read(defaults);
  const auto library = one.toy.library();
  const Job job = one.toy.job(ddp, library);
  const Seconds copies = one.takes(scaled_to(one.toy.profile, Seconds{1e-9}), ddp);
  const ComputeProfile small = scaled_to(one.toy.profile, 1.0 / 9 * copies);
  const ComputeProfile found = profile_timed_under(job, ddp, 1, one.takes(small, ddp));
  CHECK(found.iteration.count() == Approx(small.iteration.count()).epsilon(1e-4));
}

TEST_CASE("a time that no compute leaves under the strategy is refused", "[train][profile]") {
  const OneGpu one;
  config::KnobList defaults;
  const StrategyFactory ddp = Ddp::read(defaults);
  const auto library = one.toy.library();
  const Job job = one.toy.job(ddp, library);
  const Seconds copies = one.takes(scaled_to(one.toy.profile, Seconds{1e-9}), ddp);
  REQUIRE(copies.count() > 1e-4);
  CHECK_THROWS_AS(profile_timed_under(job, ddp, 1, 0.9 * copies), UnsupportedConfiguration);
}

TEST_CASE("workers that do not wait for each other are no strategy of a time", "[train][profile]") {
  const OneGpu one;
  config::KnobList defaults;
  const StrategyFactory async = PsAsync::read(defaults);
  const auto library = one.toy.library();
  CHECK_THROWS_AS(profile_timed_under(one.toy.job(async, library), async, 1, Seconds{0.1}),
                  UnsupportedConfiguration);
}
