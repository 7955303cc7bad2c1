#include "strategies/servers/ps_async.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// One tensor, two workers, one server.
JobView pair_job() {
  return toy_job_on({0, 1}, {10}, {0});
}

/// A strategy whose operations are counted, so that a test can name them.
struct Driven {
  explicit Driven(std::optional<int> bound, bool pull_at_once = false)
      : strategy({.servers = {}, .pull_at_once = pull_at_once, .bound = bound}, pair_job()) {}
  Operations tell(const Event& event) {
    first = posted;
    auto operations = strategy.on_event(Seconds{}, event);
    posted += static_cast<OperationId>(operations.size());
    return operations;
  }
  Operations end(OperationId operation) { return tell(OperationDone{operation}); }
  /// Starts an iteration; returns the pull's number. It is the last operation.
  OperationId start(int iteration, WorkerId worker) {
    tell(IterationStart{iteration, worker});
    return posted - 1;
  }
  /// From the pull to the server's update.
  void pass(OperationId pull, WorkerId worker) {
    end(pull);
    push(worker);
  }
  Operations push(WorkerId worker) {
    tell(HookFired{.tensor = 0, .worker = worker});
    const OperationId ready = first;
    end(ready);
    const OperationId pushed = first;
    end(pushed);
    const OperationId applied = first;
    return end(applied);
  }

  PsAsync strategy;
  OperationId first = 0;  ///< number of the first operation of the last answer
  OperationId posted = 0;
};

}  // namespace

TEST_CASE("a worker pulls, its forward waits, and its iteration ends when its push is applied",
          "[ps_async]") {
  Driven run({});
  const auto start = run.tell(IterationStart{0, 1});
  REQUIRE(start.size() == 3);  // flags: applied, pulled; pull
  CHECK(std::get<Messages>(start[2]).exchange == 3);
  const auto gate = run.tell(ForwardStart{.layer = 0, .worker = 1});
  CHECK(std::get<Gate>(gate[0]).until == std::vector<OperationId>{1});
  CHECK(std::get<Gate>(gate[0]).worker == 1);
  const auto pulled = run.end(2);
  CHECK(std::get<Raise>(pulled[0]).flag == 1);
  const auto over = run.tell(BackwardDone{.worker = 1});
  CHECK(std::get<OptimizerStep>(over[0]).worker == 1);
  CHECK(std::get<Gate>(over[1]).until == std::vector<OperationId>{0});
  const auto applied = run.push(1);
  REQUIRE(applied.size() == 1);
  CHECK(std::get<Raise>(applied[0]).flag == 0);
}

TEST_CASE("pulled at once, a variable holds the next forward and nothing else", "[ps_async]") {
  Driven run({}, true);
  CHECK(run.tell(IterationStart{0, 1}).size() == 1);  // flag: pulled
  CHECK(run.tell(ForwardStart{.layer = 0, .worker = 1}).empty());
  const auto applied = run.push(1);
  REQUIRE(applied.size() == 1);
  CHECK(std::get<Messages>(applied[0]).exchange == 3);
  const OperationId pull = run.first;
  CHECK(run.tell(BackwardDone{.worker = 1}).size() == 1);
  run.tell(IterationStart{1, 1});
  const auto gate = run.tell(ForwardStart{.layer = 0, .worker = 1});
  CHECK(std::get<Gate>(gate[0]).until == std::vector<OperationId>{0});
  CHECK(std::get<Raise>(run.end(pull)[0]).flag == 0);
}

TEST_CASE("staleness counts others' updates between a worker's pull and its own update",
          "[ps_async]") {
  Driven run({});
  const auto slow = run.start(0, 0);
  // Worker 1 updates twice, each time on what it has just read: 0 and 0 missed.
  for (const int iteration : {0, 1}) run.pass(run.start(iteration, 1), 1);
  CHECK(run.strategy.staleness() == Approx(0));
  // Worker 0 read before both: 2 missed. The mean of 0, 0, 2.
  run.pass(slow, 0);
  CHECK(*run.strategy.staleness() == Approx(2.0 / 3));
}

TEST_CASE("a worker that would be further ahead than the bound waits, and pulls only then",
          "[ssp]") {
  Driven run(1);
  const auto slow = run.start(0, 0);
  for (const int iteration : {0, 1}) run.pass(run.start(iteration, 1), 1);
  // Iteration 2 is 2 ahead of worker 0, which has had none applied.
  const auto held = run.tell(IterationStart{2, 1});
  REQUIRE(held.size() == 4);  // flags: applied, pulled, released; gate
  const OperationId released = run.first + 2;
  CHECK(std::get<Gate>(held[3]).until == std::vector<OperationId>{released});
  run.end(slow);
  const auto go = run.push(0);
  REQUIRE(go.size() == 3);  // worker 0's iteration is over; worker 1 is released and pulls
  CHECK(std::get<Raise>(go[1]).flag == released);
  CHECK(std::get<Messages>(go[2]).exchange == 3);
}

TEST_CASE("without a bound nobody waits", "[ps_async]") {
  Driven run({});
  for (int iteration = 0; iteration < 5; ++iteration) {
    CHECK(std::holds_alternative<Messages>(run.tell(IterationStart{iteration, 1}).back()));
    run.end(run.posted - 1);
    run.push(1);
  }
}

TEST_CASE("exchanges are visited in the order of their numbers", "[ps_async]") {
  auto job = pair_job();
  job.server_machine = {0, 1};
  const PsAsync strategy({}, job);
  const auto exchanges = strategy.exchanges();
  REQUIRE(exchanges.size() == 8);  // 2 workers, 2 servers, there and back
  std::size_t next = 0;
  strategy.visit_exchanges([&](const Exchange& exchange) {
    CHECK(exchange.phases.front().front().from == exchanges.at(next).phases.front().front().from);
    ++next;
  });
  CHECK(next == exchanges.size());
  CHECK(exchanges[5].name == "pull of worker 1, server 0");
  CHECK(exchanges[5].phases.front().front().to == Endpoint{Endpoint::Place::gpu, 1});
}

TEST_CASE("more workers and servers than memory has room for are refused", "[ps_async]") {
  auto job = toy_job({10});
  job.world_size = 65'536;
  job.server_machine.assign(1'000, 0);
  const PsAsync strategy({}, job);
  CHECK_THROWS_WITH(strategy.exchanges(),
                    "65536 workers push to 1000 servers and pull from them on 131072000 routes; "
                    "expected at most 20000000, as with fewer servers");
}
