#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/train/plans.hpp"
#include "tests/catch.hpp"
#include "tests/train/scripted.hpp"

using namespace gradwire;
using namespace gradwire::test;

// Toy profile: 2 ms between iterations, forward 1, 2, 3 ms, backward of l3, l2, l1 6, 4, 2 ms,
// optimizer 1 ms: gradients of l3, l2, l1 are ready at 14, 18 and 20 ms of an iteration of 21 ms.

TEST_CASE("a marker tells when the gradient is there, not when its kernel was launched",
          "[training][operations]") {
  Script script;
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (std::holds_alternative<HookFired>(event)) return {marker()};
    return {};
  };
  const auto result = fixture(1, 0, script).run();
  // 3 tensors in each iteration that is run: the first, and one that repeats it.
  REQUIRE(script.ended.size() == 6);
  for (int i = 0; i < 2; ++i) {
    const auto first = static_cast<std::size_t>(3 * i);
    CHECK(script.ended[first].second == Approx(21e-3 * i + 14e-3));
    CHECK(script.ended[first + 1].second == Approx(21e-3 * i + 18e-3));
    CHECK(script.ended[first + 2].second == Approx(21e-3 * i + 20e-3));
  }
  REQUIRE(result.iteration_s.size() == 4);
  for (const double t : result.iteration_s) CHECK(t == Approx(21e-3));
}

TEST_CASE("a marker waits for the last rank", "[training][operations]") {
  Script script;
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (is_hook(event, 2)) return {marker()};
    return {};
  };
  Fixture f = fixture(2, 0, script);
  f.stragglers = {{.ranks = {1}, .compute = 2}};
  f.run();
  // Rank 1: 2 ms of the host's, then 2 * (6 + 6) ms.
  CHECK(script.ended.front().second == Approx(26e-3));
}

TEST_CASE("collectives ready at once follow each other on a stream and not on two",
          "[training][operations]") {
  const auto second_ends = [](int stream_of_second) {
    Script script;
    script.collectives = {{CollectiveKind::all_reduce}};
    script.answer = [&](const Event& event, OperationId) -> Operations {
      if (!starts(event, 0)) return {};
      const auto collective = [](int stream) {
        return Collective{.size = Bytes{1024},
                          .tensors = {},
                          .label = "c",
                          .ready = Collective::Ready::at_once,
                          .stream = stream};
      };
      return {collective(1), collective(stream_of_second)};
    };
    fixture(2, 3e-3, script).run();
    REQUIRE(script.ended.size() == 2);
    CHECK(script.ended.front().second == Approx(3e-3));
    return script.ended.back().second;
  };
  CHECK(second_ends(1) == Approx(6e-3));
  // Two small ones beside each other: each is paced by its own cost, the links have room.
  CHECK(second_ends(2) == Approx(3e-3));
}

using Flows = std::vector<std::pair<int, int>>;

/// Who sends to whom in the first phase of a collective of 1000 bytes, sorted.
Flows senders(Plans& plans, const CollectiveUse& use) {
  Flows flows;
  bool is_new = false;
  const auto* choice = plans.choose(0, use, Bytes{1000}, is_new);
  REQUIRE(choice != nullptr);
  for (const PatternFlow& flow : plans.pattern(choice->pattern).phases.front().flows) {
    flows.emplace_back(flow.source, flow.destination);
  }
  std::sort(flows.begin(), flows.end());
  return flows;
}

TEST_CASE("a machine's ranks form groups of a part of them, each with its root first",
          "[training][operations]") {
  Script script;
  const CollectiveUse pairs{CollectiveKind::reduce_scatter, families::node, 2};
  const CollectiveUse uneven{CollectiveKind::all_gather, families::node, 3};
  const CollectiveUse rooted{CollectiveKind::broadcast, families::node, 2, 1};
  const CollectiveUse whole{CollectiveKind::all_gather, families::node};
  script.collectives = {pairs, uneven, whole, rooted};
  const Scripted strategy(script);
  const Fixture f = fixture(4, 0, script);
  const auto library = f.library();
  const Job job = f.job(library);
  Plans plans(job, {&strategy});
  CHECK(senders(plans, pairs) == Flows{{0, 1}, {1, 0}, {2, 3}, {3, 2}});
  CHECK(senders(plans, uneven) == senders(plans, whole));  // 3 do not divide 4
  CHECK(senders(plans, rooted) == Flows{{1, 0}, {3, 2}});
}

// Four ranks with tp 2 and dp 2 (Megatron's order): tp {0, 1}, {2, 3}, dp {0, 2}, {1, 3}.
TEST_CASE("a collective runs in all groups of a family that the job adds",
          "[training][operations]") {
  const ParallelLayout layout({.tensor = 2, .data = 2});
  const CollectiveUse tensor{CollectiveKind::all_gather, families::own};
  const CollectiveUse data{CollectiveKind::all_gather,
                           FamilyId{static_cast<std::int32_t>(families::own) + 1}};
  Script script;
  script.collectives = {tensor, data};
  const Scripted strategy(script);
  const Fixture f = fixture(4, 0, script);
  const auto library = f.library();
  Job job = f.job(library);
  job.families = {layout.family(std::array{ParallelAxis::tensor}),
                  layout.family(std::array{ParallelAxis::data})};
  Plans plans(job, {&strategy});
  CHECK(senders(plans, tensor) == Flows{{0, 1}, {1, 0}, {2, 3}, {3, 2}});
  CHECK(senders(plans, data) == Flows{{0, 2}, {1, 3}, {2, 0}, {3, 1}});
}

TEST_CASE("a collective ready at once slows the compute under it", "[training][operations]") {
  Script script;
  script.collectives = {{CollectiveKind::all_reduce}};
  OperationId waited = 0;
  script.answer = [&](const Event& event, OperationId next) -> Operations {
    if (is_hook(event, 2)) {
      waited = next;
      return {marker()};
    }
    if (is_done(event, waited)) {
      return {Collective{.size = Bytes{1024},
                         .tensors = {},
                         .label = "c",
                         .ready = Collective::Ready::at_once,
                         .stream = 1}};
    }
    return {};
  };
  Fixture f = fixture(2, 3e-3, script);
  f.profile.overlap = {{"conv3", 1.5}};
  const auto result = f.run();
  // From 14 to 17 ms the backward goes at 1/1.5: 1 ms is lost.
  for (const double t : result.iteration_s) CHECK(t == Approx(22e-3));
  CHECK(part(result, Part::overlap_slowdown) == Approx(1e-3));
}

TEST_CASE("a gate waits for a collective ready at once, and says that data moved",
          "[training][operations]") {
  Script script;
  script.collectives = {{CollectiveKind::all_reduce}};
  OperationId mark = -1;
  OperationId flag = -1;
  OperationId collective = -1;
  script.answer = [&](const Event& event, OperationId next) -> Operations {
    if (is_hook(event, 0)) {
      mark = next;
      flag = next + 1;
      return {marker(), Flag{"reduced"}};
    }
    if (is_done(event, mark)) {
      collective = next;
      return {Collective{.size = Bytes{1024},
                         .tensors = {},
                         .label = "c",
                         .ready = Collective::Ready::at_once,
                         .stream = 1}};
    }
    if (ends_backward(event)) return {Gate{{flag}}};
    if (is_done(event, collective)) return {Raise{flag}};
    return {};
  };
  const auto result = fixture(2, 5e-3, script).run();
  // Ready at 20 ms, 5 ms of collective, 1 ms of optimizer.
  for (const double t : result.iteration_s) CHECK(t == Approx(26e-3));
  CHECK(part(result, Part::exposed_communication) == Approx(5e-3));
}

TEST_CASE("messages take the links of their way, phase after phase", "[training][operations]") {
  Script script;
  const Endpoint first{Endpoint::Place::gpu, 0};
  const Endpoint second{Endpoint::Place::gpu, 1};
  script.exchanges = {
      {.name = "there and back", .phases = {{{first, second, 1}}, {{second, first, 0.5}}}}};
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (!starts(event, 0)) return {};
    return {Messages{.exchange = 0, .size = Bytes{20'000'000}, .tensors = {}, .label = "m"}};
  };
  const auto result = fixture(2, 0, script).run();
  // 20 MB at 20 GB/s and 10 MB back, 1 us of latency each.
  CHECK(script.ended.front().second == Approx(1.5e-3 + 2e-6));
  CHECK(result.collectives == 0);  // none in the measured iterations
}

TEST_CASE("messages of two operations share a link fairly", "[training][operations]") {
  Script script;
  const Endpoint first{Endpoint::Place::gpu, 0};
  const Endpoint second{Endpoint::Place::gpu, 1};
  script.exchanges = {{.name = "m", .phases = {{{first, second, 1}}}}};
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (!starts(event, 0)) return {};
    const Messages messages{.exchange = 0, .size = Bytes{20'000'000}, .tensors = {}, .label = "m"};
    return {messages, messages};
  };
  fixture(2, 0, script).run();
  CHECK(script.ended[0].second == Approx(2e-3 + 1e-6));
  CHECK(script.ended[1].second == Approx(2e-3 + 1e-6));
}

TEST_CASE("asynchronous workers iterate independently, and their rates add up",
          "[training][operations]") {
  Script script;
  script.traits.independent_workers = true;
  std::map<WorkerId, int> begun;
  script.answer = [&](const Event& event, OperationId) -> Operations {
    if (const auto* start = std::get_if<IterationStart>(&event)) ++begun[start->worker];
    return {};
  };
  Fixture f = fixture(3, 0, script);
  f.stragglers = {{.ranks = {2}, .compute = 2}};
  const auto result = f.run();
  // 21 ms, and 2 + 2 * 19 = 40 ms: the mean rate is (1/21 + 1/21 + 1/40) / 3.
  for (const double t : result.iteration_s) {
    CHECK(t == Approx(3 / (2 / 21e-3 + 1 / 40e-3)));
  }
  CHECK(sum(result.breakdown) == Approx(result.iteration_s.front()));
  // 5 iterations of the slow one take 200 ms; the others go on until it is through.
  CHECK(begun[2] == 5);
  CHECK(begun[0] == 10);
}

TEST_CASE("the optimizer can be run in parts", "[training][operations]") {
  Script script;
  script.traits.own_optimizer = true;
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (!std::holds_alternative<HookFired>(event)) return {};
    return {OptimizerStep{.share = 1.0 / 3, .label = "update"}};
  };
  const auto result = fixture(1, 0, script).run();
  for (const double t : result.iteration_s) CHECK(t == Approx(21e-3));
  CHECK(part(result, Part::optimizer) == Approx(1e-3));
}

TEST_CASE("a flag that nobody raises is a deadlock that is reported", "[training][operations]") {
  Script script;
  script.answer = [](const Event& event, OperationId next) -> Operations {
    if (!ends_backward(event)) return {};
    return {Flag{"never"}, Gate{{next}}};
  };
  const Fixture f = fixture(1, 0, script);
  CHECK_THROWS_AS(f.run(), SimulationError);
}
