#include "sim/train/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/train/plans.hpp"
#include "strategies/servers/ps_async.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// What a run tells of two asynchronous workers. @param of_worker  ms of each iteration.
/// @param costs  of the collectives that were priced
RunResult told_of(const std::vector<std::vector<double>>& of_worker, std::optional<int> lead = {},
                  const std::vector<CollectiveCost>& costs = {}) {
  ToyTraining toy(static_cast<int>(of_worker.size()));
  toy.warmup = 0;
  toy.iterations = static_cast<int>(of_worker.front().size());
  toy.servers = {0};
  const auto strategy = make<PsAsync>(PsAsyncOptions{});
  const auto library = toy.library();
  const Job job = toy.job(strategy, library);
  std::vector<MemberGroup> members;
  for (int rank = 0; rank < static_cast<int>(of_worker.size()); ++rank) {
    members.push_back({.rank = rank});
  }
  Summary summary(job, members, true, lead);
  for (const CollectiveCost& cost : costs) summary.priced(cost);
  for (std::size_t worker = 0; worker < of_worker.size(); ++worker) {
    double now = 0;
    for (std::size_t i = 0; i < of_worker[worker].size(); ++i) {
      IterationSample sample{.start = now, .end = now + 1e-3 * of_worker[worker][i], .parts = {}};
      now = sample.end;
      sample.parts[static_cast<std::size_t>(Part::backward)] = sample.end - sample.start;
      summary.iteration_ended(worker, static_cast<int>(i), {sample});
    }
  }
  const auto instance = strategy(job_view(job));
  const Plans plans(job, {instance.get()});
  const auto engine = make_engine(toy.cluster, plans.patterns(), {});
  return summary.result(plans, engine->network(), Seconds{1}, 0, {});
}

double mean_ms(const RunResult& result) {
  return 1e3 * std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0) /
         static_cast<double>(result.iteration_s.size());
}

}  // namespace

TEST_CASE("Asynchronous workers have the throughput of all they did in their time",
          "[train][summary]") {
  // Two iterations in 200 ms and two in 50 ms: 10 and 40 a second, 25 on average.
  const RunResult result = told_of({{25, 175}, {25, 25}});
  CHECK(mean_ms(result) == Approx(1000.0 / 25));
  // The parts add up to it.
  CHECK(1e3 * std::accumulate(result.breakdown.begin(), result.breakdown.end(), 0.0) ==
        Approx(1000.0 / 25));
}

TEST_CASE("Iterations that still become longer are warned of, steady ones are not",
          "[train][summary]") {
  // 100 ms, then 110.
  const RunResult drifting = told_of({{100, 100, 110, 110}, {100, 100, 110, 110}});
  REQUIRE(drifting.warnings.size() == 1);
  CHECK(drifting.warnings.front().code == "not-steady");
  CHECK(drifting.warnings.front().text ==
        "the later half of the measured iterations takes 10 % longer than the earlier; "
        "asynchronous workers need more run.warmup and run.iterations");
  CHECK(told_of({{100, 110, 100, 110}, {110, 100, 110, 100}}).warnings.empty());
}

TEST_CASE("Workers that cannot get far apart are reported as unsteady while their rates differ",
          "[train][summary]") {
  // 20 and 10 iterations a second.
  const std::vector<std::vector<double>> apart = {{50, 50}, {100, 100}};
  CHECK(told_of(apart).warnings.empty());
  const RunResult early = told_of(apart, 3);
  REQUIRE(early.warnings.size() == 1);
  CHECK(early.warnings.front().code == "not-steady");
  CHECK(early.warnings.front().text.find("the fastest still iterates 100 % more often") !=
        std::string::npos);
  // Of 20 iterations a lead of 3 lets one gain 15 %, and no more.
  const std::vector<double> slow(20, 100);
  CHECK(told_of({std::vector<double>(20, 85), slow}, 3).warnings.empty());
  CHECK(told_of({std::vector<double>(20, 80), slow}, 3).warnings.size() == 1);
  CHECK(told_of({{100, 100}, {98, 102}}, 3).warnings.empty());
}

TEST_CASE("Late messages that a collective takes nearly all its time for are warned of, once",
          "[train][summary]") {
  const auto warned = [](double late_ms) {
    CollectiveCost cost;
    cost.uncontended = Seconds{1e-3};
    cost.late_messages = Seconds{1e-3 * late_ms};
    const RunResult result = told_of({{25, 25}, {25, 25}}, {}, {cost, cost});
    return std::ranges::count(result.warnings, "late-messages", &Warning::code);
  };
  CHECK(warned(1) == 1);
  CHECK(warned(0.95) == 1);
  CHECK(warned(0.5) == 0);
  CHECK(warned(0) == 0);
}

TEST_CASE("What is reported of the workers' progress stands in the result of the run",
          "[train][summary]") {
  ToyTraining toy(2);
  toy.warmup = 0;
  toy.iterations = 3;
  toy.servers = {0};
  PsAsyncOptions options;
  options.bound = 3;
  options.servers.server_cpu = toy_cpu(core_sum_rate);
  const auto strategy = make<PsAsync>(options);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.stragglers = {{.ranks = {1}, .compute = 3}};
  const RunResult result = simulate(job);
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings.front().code == "not-steady");
}
