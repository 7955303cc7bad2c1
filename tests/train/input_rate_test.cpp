// What a machine's input pipeline delivers.
#include "strategies/all_reduce/ddp.hpp"
#include "tests/train/toy_training.hpp"

namespace gradwire::test {
namespace {

/// DDP with all gradients in one bucket: 6 + 12 ms, 6.5 ms of the all-reduce, 1 ms.
constexpr double alone = 6 + 12 + 6.5 + 1;

const DdpOptions one_bucket{.version = {1, 10},
                            .bucket_cap = Bytes{6'000'000},
                            .first_bucket_cap = Bytes{6'000'000},
                            .broadcast_buffers = false};

std::vector<double> run(const ToyTraining& toy, double input_rate) {
  const StrategyFactory strategy = make<Ddp>(one_bucket);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.run.input_rate = input_rate;
  std::vector<double> times;
  for (const double t : simulate(job).iteration_s) times.push_back(1e3 * t);
  return times;
}

/// Samples/s of a machine whose inputs of an iteration of so many samples take so many ms.
double rate(int samples, double ms) {
  return samples / (1e-3 * ms);
}

}  // namespace

TEST_CASE("toy timeline: an iteration takes what a machine's inputs do, where that is longer",
          "[timeline][inputs]") {
  const ToyTraining toy(2);
  const int samples = 2 * toy.profile.batch_per_gpu;
  check_each(run(toy, 0), alone);
  check_each(run(toy, rate(samples, 40)), 40);
  // Made beside compute and communication, they cost nothing where they take less.
  CHECK(run(toy, rate(samples, alone - 0.1)) == run(toy, 0));
}

TEST_CASE("A job that waits for inputs is warned of, and no interval ends below what they take",
          "[inputs]") {
  const ToyTraining toy(2);
  const auto told = [&](double ms) {
    const StrategyFactory strategy = make<Ddp>(one_bucket);
    const auto library = toy.library();
    Job job = toy.job(strategy, library);
    job.run.input_rate = rate(2 * toy.profile.batch_per_gpu, ms);
    job.doubts.several_gpus = {.low = 0.5, .high = 0.5};
    return simulate(job);
  };
  const RunResult slow = told(40);
  CHECK(slow.spread_low == Approx(0).margin(1e-9));
  REQUIRE(slow.warnings.size() == 1);
  CHECK(slow.warnings[0].code == "waits-for-inputs");
  CHECK(slow.warnings[0].text ==
        "a machine's input pipeline takes 40 ms an iteration, at 400 samples/s: GPUs wait for it");
  const RunResult fast = told(24);
  CHECK(fast.warnings.empty());
  CHECK(fast.spread_low == Approx(1 - 24 / alone));
}

TEST_CASE(
    "A machine's GPUs share its pipeline, machines have one each, and accumulation asks for "
    "each micro-batch's",
    "[inputs]") {
  const ToyTraining one(4);
  const ToyTraining two(4, 2);
  ToyTraining twice(4);
  twice.micro_batches = 2;
  const double of_four = rate(4 * one.profile.batch_per_gpu, 50);
  check_each(run(one, of_four), 50);
  check_each(run(two, of_four), 50);
  check_each(run(twice, of_four), 100);
}

}  // namespace gradwire::test
