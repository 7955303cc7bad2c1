#include "sim/train/worker_rates.hpp"

#include "strategies/servers/ps_async.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Of workers that share a server's link and vary.
RunResult run_of(int warmup, int iterations) {
  auto toy = ToyTraining::networked(1, 8, BytesPerSecond{1e9}, 1);
  toy.iterations = iterations;
  toy.warmup = warmup;
  PsAsyncOptions options;
  options.servers.message = Bytes{1'000'000};
  options.servers.server_cpu = toy_cpu(core_sum_rate);
  const auto strategy = make<PsAsync>(options);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter = {.rank = 0.01, .iteration = 0.05, .layer = 0};
  return simulate(job);
}

}  // namespace

TEST_CASE("a mean of workers' iterations weighs each by its rate", "[train][rates]") {
  const std::vector<WorkerIterations> workers = {{9, 1, 1}, {7, 3, 5}};
  const RunSpec run{.iterations = 2, .warmup = 1};
  // 2 iterations in 2 s and in 8 s: rates 1 and 1/4, weights 4/5 and 1/5.
  CHECK(worker_rates(workers, run) == std::vector<double>{1, 0.25});
  const auto means = mean_iterations(workers, run);
  REQUIRE(means.size() == 2);
  CHECK(means[0] == Approx(0.8 * 1 + 0.2 * 3));
  CHECK(means[1] == Approx(0.8 * 1 + 0.2 * 5));
}

TEST_CASE("asynchronous workers of a longer run begin with the iterations of a shorter one",
          "[train][rates]") {
  const RunResult brief = run_of(2, 4);
  const RunResult longer = run_of(5, 20);
  const RunSpec run{.iterations = 4, .warmup = 2};
  CHECK(mean_iterations(longer.worker_iteration_s, run) == brief.iteration_s);
  CHECK(longer.worker_iteration_s.front().size() == 25);
}
