#include "sim/train/phases.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/local_sgd.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/onebit_adam.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

std::vector<std::string> codes(const std::vector<Warning>& warnings) {
  std::vector<std::string> list;
  for (const Warning& warning : warnings) list.push_back(warning.code);
  return list;
}

struct Chosen {
  int first = 0;
  std::vector<std::string> codes;
  bool operator==(const Chosen&) const = default;
};

/// Of 5 measured iterations behind 2.
Chosen chosen(const Phasing& phasing, bool all_phases) {
  const RunSpec run{.iterations = 5, .warmup = 2, .seed = 1, .all_phases = all_phases};
  const PhaseChoice choice = choose_phases(phasing, run);
  return {choice.first, codes(choice.warnings)};
}

Phasing from(int steady) {
  return {.steady_from = steady};
}

StrategyFactory compressed_ddp(std::function<std::unique_ptr<Compressor>(const JobView&)> make) {
  return [make](const JobView& job) {
    return std::make_unique<Compressed>(
        std::make_unique<Ddp>(DdpOptions{.broadcast_buffers = false, .comm_hook = true}, job),
        make(job), job, 1);
  };
}

RunResult run(const StrategyFactory& strategy, bool all_phases) {
  ToyTraining toy;
  toy.all_phases = all_phases;
  const auto library = toy.library();
  return simulate(toy.job(strategy, library));
}

}  // namespace

TEST_CASE("A run begins so that its first measured iteration is in the phase that lasts",
          "[training][phases]") {
  CHECK(chosen(from(0), false) == Chosen{});
  CHECK(chosen(from(2), false) == Chosen{});
  CHECK(chosen(from(3), false) == Chosen{1, {"steady-phase"}});
  CHECK(chosen(from(100'000), false) == Chosen{99'998, {"steady-phase"}});
}

TEST_CASE("A run over all phases says which of them its mean is of", "[training][phases]") {
  CHECK(chosen(from(2), true) == Chosen{});
  CHECK(chosen(from(3), true) == Chosen{0, {"mixed-phases"}});
  CHECK(chosen(from(6), true) == Chosen{0, {"mixed-phases"}});
  CHECK(chosen(from(7), true) == Chosen{0, {"early-phase"}});
}

TEST_CASE("A phase that begins behind the last number is never reached", "[training][phases]") {
  CHECK(chosen(from(std::numeric_limits<int>::max()), false) == Chosen{0, {"early-phase"}});
}

TEST_CASE("A run shorter than a strategy's period says so", "[training][phases]") {
  CHECK(chosen({.steady_from = 0, .period = 5}, false) == Chosen{});
  CHECK(chosen({.steady_from = 0, .period = 6}, false) == Chosen{0, {"part-of-a-period"}});
}

TEST_CASE("Two that run together last from the later on and repeat with both",
          "[training][phases]") {
  const Phasing both = Phasing{.steady_from = 3, .period = 4}.with({.steady_from = 8, .period = 6});
  CHECK(both.steady_from == 8);
  CHECK(both.period == 12);
}

TEST_CASE("The phase that lasts takes as long as where it is the only one", "[training][phases]") {
  // 1-bit Adam's begins with iteration 100 000 by default.
  const std::vector<std::function<StrategyFactory(int)>> compressors = {
      [](int start) {
        return compressed_ddp(
            [start](const JobView& job) { return std::make_unique<OneBitAdam>(start, job); });
      },
      [](int start) {
        return compressed_ddp([start](const JobView& job) {
          return std::make_unique<PowerSgd>(
              PowerSgdOptions{.start_iteration = start, .batched = true}, job);
        });
      }};
  for (const auto& starts_at : compressors) {
    const RunResult late = run(starts_at(100'000), false);
    const RunResult only = run(starts_at(0), false);
    const RunResult before = run(starts_at(100'000), true);
    CHECK(codes(late.warnings) == std::vector<std::string>{"steady-phase"});
    CHECK(only.warnings.empty());
    CHECK(codes(before.warnings) == std::vector<std::string>{"early-phase"});
    CHECK(late.bytes_per_rank == only.bytes_per_rank);
    CHECK(late.bytes_per_rank < before.bytes_per_rank);
    // What went before does not count, here neither.
    CHECK(late.communication_busy_s == Approx(only.communication_busy_s));
    REQUIRE(late.links.size() == only.links.size());
    for (std::size_t i = 0; i < late.links.size(); ++i) {
      CHECK(late.links[i].bytes == Approx(only.links[i].bytes));
      CHECK(late.links[i].utilisation == Approx(only.links[i].utilisation));
    }
    REQUIRE(late.iteration_s.size() == only.iteration_s.size());
    for (std::size_t i = 0; i < late.iteration_s.size(); ++i) {
      CHECK(late.iteration_s[i] == Approx(only.iteration_s[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("Post-local SGD is measured behind its start", "[training][phases][local_sgd]") {
  // As "toy timeline: local_sgd": 19 ms, and T(6) = 6.5 behind every second step from the start on,
  // which is the first measured iteration.
  const StrategyFactory strategy = [](const JobView& job) {
    return std::make_unique<LocalSgd>(
        LocalSgdOptions{
            .period = 2, .start_local_sgd_iter = 1000, .post_local_gradient_allreduce = false},
        job, std::make_unique<Ddp>(DdpOptions{.broadcast_buffers = false}, job));
  };
  check(ToyTraining().run(strategy), {25.5, 19, 25.5, 19});
}
