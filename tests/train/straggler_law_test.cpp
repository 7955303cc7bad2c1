#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/core/statistics.hpp"
#include "strategies/servers/ps_async.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/train/toy_training.hpp"

// A slower straggler, one more of them, or a slower network never makes a job of independent
// workers faster: in random scenarios, by their seed. Toy workers compute 18 ms and move 6 MB each
// way.

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr double allowed = 0.02;
/// Of the mean of `runs` runs, relative: above it the law would say nothing.
constexpr double noise_max = 0.02;
constexpr int runs = 6;

struct Scenario {
  int gpus = 1;
  int machines = 1;
  int server_machines = 1;
  double rate = 1e9;  ///< of the network, bytes/s
  PsAsyncOptions options;

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "{} machines of {} GPUs, {} servers, {:.2f} GB/s, in_flight {}, pull {}, bound {}",
        machines, gpus, server_machines, rate / 1e9, options.servers.in_flight,
        options.pull_at_once ? "variable" : "iteration", options.bound.value_or(-1));
  }
};

Scenario scenario_of(std::uint64_t seed) {
  const auto draw = [seed](std::uint64_t key) { return uniform(seed, 0, 0, key); };
  const auto count = [&draw](std::uint64_t key, int least, int most) {
    return least + static_cast<int>(draw(key) * (most - least + 1));
  };
  Scenario scenario{.gpus = count(1, 1, 4),
                    .machines = count(2, 2, 3),
                    .server_machines = count(3, 1, 2),
                    .rate = 0.5e9 * std::pow(20, draw(4)),
                    .options = {}};
  scenario.options.servers.in_flight = count(5, 1, 4);
  scenario.options.servers.message = Bytes{1'000'000};
  scenario.options.servers.server_cpu = toy_cpu(core_sum_rate);
  scenario.options.pull_at_once = draw(6) < 0.5;
  if (draw(7) < 0.5) scenario.options.bound = count(8, 1, 4);
  return scenario;
}

struct Estimate {
  double mean = 0;
  double error = 0;
};

/// Iterations a second.
Estimate rate_of(const Scenario& scenario, const std::vector<StragglerSpec>& stragglers) {
  std::vector<double> rates;
  for (int run = 1; run <= runs; ++run) {
    auto toy = ToyTraining::networked(scenario.gpus, scenario.machines,
                                      BytesPerSecond{scenario.rate}, scenario.server_machines);
    toy.warmup = 10;
    toy.iterations = 60;
    const auto strategy = make<PsAsync>(scenario.options);
    const auto library = toy.library();
    Job job = toy.job(strategy, library);
    job.jitter = {.rank = 0.0148, .iteration = 0.01, .layer = 0, .message = 0.47};
    job.stragglers = stragglers;
    job.run.seed = static_cast<std::uint64_t>(run);
    job.run.start_apart = true;
    rates.push_back(1 / mean(simulate(job).iteration_s));
  }
  double squares = 0;
  for (const double rate : rates) squares += std::pow(rate - mean(rates), 2);
  return {mean(rates), std::sqrt(squares / (runs - 1) / runs)};
}

void hold(const Estimate& less, const Estimate& more, const std::string& what) {
  // Student's t for 5 degrees of freedom, one-sided 99 %: there are many scenarios.
  constexpr double t_of_six = 3.36;
  INFO(what << ": " << less.mean << " +- " << less.error << " iterations/s, then " << more.mean
            << " +- " << more.error);
  CHECK(less.error <= noise_max * less.mean);
  CHECK(more.mean <= (1 + allowed) * less.mean + t_of_six * std::hypot(less.error, more.error));
}

void hold(std::uint64_t seed) {
  const Scenario scenario = scenario_of(seed);
  INFO("seed " << seed << ": " << scenario.text());
  const auto straggler = [](std::vector<int> ranks, double compute) {
    return std::vector<StragglerSpec>{
        {.ranks = std::move(ranks), .fraction = 0, .compute = compute}};
  };
  const Estimate none = rate_of(scenario, {});
  const Estimate half = rate_of(scenario, straggler({0}, 2));
  const Estimate quarter = rate_of(scenario, straggler({0}, 4));
  const Estimate two = rate_of(scenario, straggler({0, 1}, 2));
  hold(none, half, "a GPU of half speed");
  hold(half, quarter, "a GPU of a quarter of the speed for one of half");
  hold(half, two, "a second GPU of half speed");
}

}  // namespace

TEST_CASE("no straggler makes a job of independent workers faster", "[train][straggler]") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) hold(seed);
}

TEST_CASE("no straggler makes a job of independent workers faster, many scenarios",
          "[train][straggler][long]") {
  for (std::uint64_t seed = 5; seed <= 16; ++seed) hold(seed);
}

TEST_CASE("no slower network makes a job of independent workers faster, many scenarios",
          "[train][straggler][long]") {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const Scenario fast = scenario_of(seed);
    Scenario slow = fast;
    slow.rate /= 2;
    INFO("seed " << seed << ": " << fast.text());
    hold(rate_of(fast, {}), rate_of(slow, {}), "a network of half the rate");
  }
}
