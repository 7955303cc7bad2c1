#include "sim/train/worker_sampling.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sim/config/yaml/yaml_knobs.hpp"
#include "strategies/peers/kungfu_pair_averaging.hpp"
#include "strategies/servers/ps_async.hpp"
#include "strategies/servers/ssp.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Few workers for many, against the exact runs: 64 workers on 8 machines of 8.

using namespace gradwire;
using namespace gradwire::test;

namespace {

struct Run {
  const char* name;
  StrategyMaker (*read)(Knobs& knobs);
  /// Of every link. Beside 19 ms of compute 8 workers of a machine push and pull 6 MB each through
  /// one port: 8 * 6 MB / 1 GB/s = 48 ms each way, so that the network decides; at 100 GB/s
  /// compute does.
  BytesPerSecond rate;
  int machines = 8;
  int elements = 250'000;  ///< of the first layer's variable, one of six
};

RunResult simulate_on(const Run& run, int workers_max, std::uint64_t seed = 1) {
  ToyTraining toy(64 / run.machines, run.machines, run.rate);
  toy.warmup = 5;
  toy.iterations = 20;
  toy.profile.layers.front().parameters.front().shape = {run.elements};
  config::KnobList defaults;
  const auto strategy = run.read(defaults);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.run.seed = seed;
  job.jitter = {.rank = 0.02, .iteration = 0.05, .layer = 0.02};
  for (int machine = 0; machine < run.machines; ++machine) job.servers.push_back(machine);
  job.independent_workers_max = workers_max;
  job.sampled_workers = workers_max;
  return simulate(job);
}

/// Above this share of the mean, four seeds are too few.
constexpr double noise_max = 0.05;

/// Mean over seeds and the standard error of it.
struct Estimate {
  double mean = 0;
  double error = 0;
};

Estimate estimate(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (count - 1) / count)};
}

struct Estimates {
  Estimate throughput;  ///< iterations per second
  Estimate staleness;
};

Estimates estimates_of(const Run& run, int workers_max) {
  std::vector<double> rates;
  std::vector<double> staleness;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    const RunResult result = simulate_on(run, workers_max, seed);
    const double total = std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0);
    rates.push_back(static_cast<double>(result.iteration_s.size()) / total);
    staleness.push_back(result.staleness.value_or(0));
  }
  return {estimate(rates), estimate(staleness)};
}

/// Both sides are known from six seeds only: 2.57 standard errors of the difference more,
/// Student's t for 5 degrees of freedom and 95 %.
void hold(const Estimate& sampled, const Estimate& exact, double allowed) {
  constexpr double t_of_six = 2.57;
  const double noise = t_of_six * std::hypot(sampled.error, exact.error);
  INFO("sampled " << sampled.mean << " +- " << sampled.error << ", exact " << exact.mean << " +- "
                  << exact.error);
  CHECK(noise <= noise_max * exact.mean);  // else the check below says nothing
  CHECK(std::abs(sampled.mean - exact.mean) <= allowed * exact.mean + noise);
}

/// What issue 5 asks for.
constexpr double allowed = 0.03;

void hold(const Run& run) {
  const Estimates exact = estimates_of(run, 64);
  for (const int workers : {32, 16}) {
    INFO(run.name << " at " << run.rate.count() / 1e9 << " GB/s, " << workers << " workers");
    const Estimates sampled = estimates_of(run, workers);
    hold(sampled.throughput, exact.throughput, allowed);
    if (exact.staleness.mean > 0) hold(sampled.staleness, exact.staleness, allowed);
  }
}

constexpr BytesPerSecond fast{100e9};
constexpr BytesPerSecond slow{1e9};

}  // namespace

TEST_CASE("32 or 16 workers stand for 64 within 3 % where compute decides",
          "[train][sampling][long]") {
  hold({"ps_async", PsAsync::read, fast});
  hold({"kungfu_pair_averaging", KungfuPairAveraging::read, fast});
}

TEST_CASE("32 or 16 workers stand for 64 within 3 % at parameter servers on slow links",
          "[train][sampling][long]") {
  hold({"ps_async", PsAsync::read, slow});
}

// The first server's port carries 8 of a worker's 13 MB. Were messages counted and not bytes, 16
// workers on every second machine would do 1.4 times as much.
TEST_CASE("workers of few machines stand for those of all where one server holds most of the bytes",
          "[train][sampling][long]") {
  hold({"ps_async", PsAsync::read, slow, 32, 2'000'000});
}

TEST_CASE("32 or 16 workers stand for 64 within 3 % at a bounded staleness on slow links",
          "[train][sampling][long]") {
  hold({"ssp", Ssp::read, slow});
}

TEST_CASE("32 or 16 workers stand for 64 within 3 % of pair averaging on slow links",
          "[train][sampling]") {
  hold({"kungfu_pair_averaging", KungfuPairAveraging::read, slow});
}

TEST_CASE("a sampled run names the approximation and its ratio", "[train][sampling]") {
  const RunResult sampled = simulate_on({"ps_async", PsAsync::read, slow}, 16);
  CHECK(sampled.fidelity_why ==
        "every rank is asynchronous; worker sampling: 16 evenly chosen stand for 64, 4 each");
}
