#include "strategies/peers/kungfu_control.hpp"

#include "strategies/peers/kungfu_cpu.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/strategies/toy_loop.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Step = KungfuControl::Step;
constexpr Seconds latency{1e-3};

/// Of each kind how many, the seconds waited and the bytes of each all-reduce.
struct Count {
  int marks = 0;
  int broadcasts = 0;
  double waited = 0;
  std::vector<std::int64_t> all_reduced;
};

Count count(const std::vector<Step>& steps) {
  Count counted;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::step_over) ++counted.marks;
    if (step.kind == Step::Kind::broadcast) ++counted.broadcasts;
    counted.waited += step.time.count();
    if (step.kind == Step::Kind::all_reduce) counted.all_reduced.push_back(step.size.count());
  }
  return counted;
}

JobView two_machines() {
  auto job = toy_job_on({0, 0, 1, 1}, {100, 200});
  job.message_latency = latency;
  return job;
}

}  // namespace

TEST_CASE("behind a step workers ask the server and agree on the cluster", "[kungfu][elastic]") {
  // Put and get are a round trip each; minimum and maximum of an int32 and of (4 workers + 2
  // runners) x 6 bytes.
  const Count check = count(KungfuControl::check(two_machines()));
  CHECK(check.marks == 1);
  CHECK(check.waited == Approx(4e-3));
  CHECK(check.all_reduced == std::vector<std::int64_t>{4, 4, 36, 36});
}

TEST_CASE("workers that see different clusters look again after 50 ms", "[kungfu][elastic]") {
  WorkerChange change{.workers = 8, .machines = 2, .joined = 4, .latency = latency};
  // Ping: 3 round trips; message: 2 and one way: 11 ms. (8 + 2) x 6 bytes.
  const Count once = count(KungfuControl::leave(change));
  CHECK(once.waited == Approx(11e-3));
  CHECK(once.all_reduced == std::vector<std::int64_t>{4, 4, 60, 60});
  change.retries = 3;
  const Count again = count(KungfuControl::leave(change));
  CHECK(again.waited == Approx(11e-3 + 3 * (50e-3 + 2e-3)));
  CHECK(again.all_reduced.size() == 4 * once.all_reduced.size());
}

TEST_CASE("the model is broadcast behind every change, and only who joins is waited for",
          "[kungfu][elastic]") {
  WorkerChange change{
      .workers = 8, .machines = 2, .joined = 4, .worker_start = Seconds{5}, .latency = latency};
  const Count grown = count(KungfuControl::join(change));
  CHECK(grown.waited == Approx(5 + 8e-3));
  CHECK(grown.all_reduced == std::vector<std::int64_t>{8, 4});  // barrier; step
  CHECK(grown.broadcasts == 1);
  change.joined = 0;
  const Count shrunk = count(KungfuControl::join(change));
  CHECK(shrunk.waited == 0);
  CHECK(shrunk.broadcasts == 1);
}

TEST_CASE("an iteration with a config server first agrees, the run's first one does not",
          "[kungfu][elastic]") {
  const JobView job = two_machines();
  KungfuCpu strategy({.config_server = true}, job, 0);
  ToyLoop loop(strategy);
  loop.iterate(job, 0);
  // The gate that keeps gradients back until workers agreed is the engine's: it is waited for here.
  const auto begin = loop.tell(IterationStart{.iteration = 1});
  REQUIRE(begin.size() == 4);
  CHECK(begin[2] == "step over");  // before the gate, which it would wait behind
  CHECK(begin[3].starts_with("gate"));
  loop.end_all();
  CHECK(loop.quiet());
  for (const TensorId id : job.gradient_order) loop.tell(HookFired{.tensor = id});
  loop.tell(BackwardDone{});
  loop.end_all();
  CHECK(loop.quiet());
  // Four all-reduces between the machines: 4, 4, 36 and 36 bytes up and down once each.
  std::int64_t control = 0;
  for (const Operation& operation : loop.log()) {
    const auto* message = std::get_if<Messages>(&operation);
    if (message != nullptr && message->tensors.empty()) control += message->size.count();
  }
  CHECK(control == 2 * (4 + 4 + 36 + 36));
}

TEST_CASE("a lone worker agrees with itself at once", "[kungfu][elastic]") {
  auto job = toy_job({10});
  job.world_size = 1;
  job.change = WorkerChange{};
  KungfuCpu strategy({.config_server = true}, job, 0);
  ToyLoop loop(strategy);
  for (const int iteration : {0, 1}) {
    loop.tell(IterationStart{.iteration = iteration});
    loop.end_all();
    loop.tell(HookFired{.tensor = 0});
    loop.tell(BackwardDone{});
    loop.end_all();
  }
  CHECK(loop.quiet());
  for (const Operation& operation : loop.log()) {
    const auto* message = std::get_if<Messages>(&operation);
    if (message != nullptr) CHECK(message->size == Bytes{40});  // its gradient's copies alone
  }
}
