#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/train/plans.hpp"
#include "tests/catch.hpp"
#include "tests/train/three_layers.hpp"

using namespace gradwire;
using namespace gradwire::test;

// Toy profile: 2 ms between iterations, forward 1, 2, 3 ms, backward of l3, l2, l1 6, 4, 2 ms,
// optimizer 1 ms: gradients of l3, l2, l1 are ready at 14, 18 and 20 ms of an iteration of 21 ms.

namespace {

/// What a scripted strategy saw and may post.
struct Script {
  Traits traits{.dynamic = true};
  std::vector<CollectiveUse> collectives;
  std::vector<Exchange> exchanges;
  /// Answers an event; `next` is the id of the first operation it returns.
  std::function<Operations(const Event& event, OperationId next)> answer;
  std::vector<std::pair<OperationId, double>> ended;  ///< with the time of the event
};

class Scripted final : public Strategy {
 public:
  explicit Scripted(Script& script) : script_(script) {}

  Operations on_event(Seconds now, const Event& event) override {
    if (const auto* done = std::get_if<OperationDone>(&event)) {
      script_.ended.emplace_back(done->operation, now.count());
    }
    Operations operations = script_.answer(event, next_);
    next_ += static_cast<OperationId>(operations.size());
    return operations;
  }
  [[nodiscard]] Traits traits() const override { return script_.traits; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override {
    return script_.collectives;
  }
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return script_.exchanges; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }

 private:
  Script& script_;
  OperationId next_ = 0;
};

Fixture fixture(int ranks, double collective, Script& script) {
  return {ranks, collective,
          [&script](const JobView&) { return std::make_unique<Scripted>(script); }};
}

DeviceWork marker() {
  return {.kernels = 0, .label = "ready", .notify = true};
}
bool is_hook(const Event& event, TensorId tensor) {
  const auto* hook = std::get_if<HookFired>(&event);
  return hook != nullptr && hook->tensor == tensor;
}
bool is_done(const Event& event, OperationId id) {
  const auto* done = std::get_if<OperationDone>(&event);
  return done != nullptr && done->operation == id;
}
bool starts(const Event& event, int iteration) {
  const auto* start = std::get_if<IterationStart>(&event);
  return start != nullptr && start->iteration == iteration;
}
bool ends_backward(const Event& event) {
  return std::holds_alternative<BackwardDone>(event);
}

}  // namespace

TEST_CASE("a marker tells when the gradient is there, not when its kernel was launched",
          "[training][operations]") {
  Script script;
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (std::holds_alternative<HookFired>(event)) return {marker()};
    return {};
  };
  const auto result = fixture(1, 0, script).run();
  REQUIRE(script.ended.size() == 15);  // 3 tensors in 5 iterations
  for (int i = 0; i < 5; ++i) {
    const auto first = static_cast<std::size_t>(3 * i);
    CHECK(script.ended[first].second == Approx(21e-3 * i + 14e-3));
    CHECK(script.ended[first + 1].second == Approx(21e-3 * i + 18e-3));
    CHECK(script.ended[first + 2].second == Approx(21e-3 * i + 20e-3));
  }
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

TEST_CASE("a machine's ranks form groups of a part of them, each with its root first",
          "[training][operations]") {
  Script script;
  const CollectiveUse pairs{CollectiveKind::reduce_scatter, Communicator::node, 2};
  const CollectiveUse uneven{CollectiveKind::all_gather, Communicator::node, 3};
  const CollectiveUse rooted{CollectiveKind::broadcast, Communicator::node, 2, 1};
  const CollectiveUse whole{CollectiveKind::all_gather, Communicator::node};
  script.collectives = {pairs, uneven, whole, rooted};
  const Scripted strategy(script);
  const Fixture f = fixture(4, 0, script);
  const auto library = f.library();
  Plans plans(f.job(library), strategy);
  const auto senders = [&](const CollectiveUse& use) {
    std::vector<std::pair<int, int>> flows;
    bool is_new = false;
    const auto* choice = plans.choose(use, Bytes{1000}, is_new);
    REQUIRE(choice != nullptr);
    for (const PatternFlow& flow : plans.pattern(choice->pattern).phases.front().flows) {
      flows.emplace_back(flow.source, flow.destination);
    }
    std::sort(flows.begin(), flows.end());
    return flows;
  };
  using Flows = std::vector<std::pair<int, int>>;
  CHECK(senders(pairs) == Flows{{0, 1}, {1, 0}, {2, 3}, {3, 2}});
  CHECK(senders(uneven) == senders(whole));  // 3 do not divide 4
  CHECK(senders(rooted) == Flows{{1, 0}, {3, 2}});
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

TEST_CASE("side work takes the GPU from the compute stream", "[training][operations]") {
  Script script;
  OperationId mark = -1;
  script.answer = [&](const Event& event, OperationId next) -> Operations {
    if (is_hook(event, 2)) {
      mark = next;
      return {marker()};
    }
    if (is_done(event, mark)) {
      const DeviceWork work{.kind = WorkKind::encode,
                            .kernels = 0,
                            .label = "encode",
                            .time = Seconds{2e-3},
                            .stream = DeviceStream::side};
      return {work, work};  // one after the other
    }
    return {};
  };
  const auto result = fixture(1, 0, script).run();
  CHECK(script.ended[1].second == Approx(16e-3));
  CHECK(script.ended[2].second == Approx(18e-3));
  for (const double t : result.iteration_s) CHECK(t == Approx(25e-3));
  CHECK(part(result, Part::encode_decode) == Approx(4e-3));
}

TEST_CASE("a host thread does one thing after the other; timers run beside each other",
          "[training][operations]") {
  const auto ends = [](int thread) {
    Script script;
    script.answer = [&](const Event& event, OperationId) -> Operations {
      if (!starts(event, 0)) return {};
      const HostWork work{.thread = thread, .time = Seconds{5e-3}, .label = "sum"};
      return {work, work};
    };
    fixture(1, 0, script).run();
    return std::pair(script.ended[0].second, script.ended[1].second);
  };
  CHECK(ends(0).first == Approx(5e-3));
  CHECK(ends(0).second == Approx(10e-3));
  CHECK(ends(HostWork::no_thread).second == Approx(5e-3));
}

TEST_CASE("a wait for a host thread is the host's", "[training][operations]") {
  Script script;
  script.answer = [&](const Event& event, OperationId next) -> Operations {
    if (!ends_backward(event)) return {};
    return {HostWork{.thread = 0, .time = Seconds{40e-3}, .label = "sum"}, Gate{{next}}};
  };
  const auto result = fixture(1, 0, script).run();
  // The launcher has launched all 2 ms after the start (launches take no time in the toy, what is
  // between iterations does): the gate opens 40 ms later, and the optimizer takes 1 ms.
  for (const double t : result.iteration_s) CHECK(t == Approx(43e-3));
  CHECK(part(result, Part::host) == Approx(24e-3));  // 2 ms between iterations, 22 of the wait
}

TEST_CASE("work of the launcher delays what it launches next", "[training][operations]") {
  Script script;
  script.answer = [](const Event& event, OperationId) -> Operations {
    if (!std::holds_alternative<IterationStart>(event)) return {};
    return {HostWork{.thread = HostWork::launcher, .time = Seconds{7e-3}, .label = "python"}};
  };
  const auto result = fixture(1, 0, script).run();
  // All of it begins at 7 ms.
  for (const double t : result.iteration_s) CHECK(t == Approx(28e-3));
}

TEST_CASE("a gate at a layer's pre-hook holds its forward over the end of an iteration",
          "[training][operations]") {
  Script script;
  script.traits.forward_hooks = true;
  OperationId work = -1;
  script.answer = [&](const Event& event, OperationId next) -> Operations {
    if (ends_backward(event)) {
      work = next;
      return {HostWork{.thread = HostWork::no_thread, .time = Seconds{30e-3}, .label = "late"}};
    }
    const auto* forward = std::get_if<ForwardStart>(&event);
    if (forward != nullptr && forward->layer == 1 && work >= 0) return {Gate{{work}}};
    return {};
  };
  const auto result = fixture(1, 0, script).run();
  // An iteration starts at s; the timer of the one before was posted at s' + 2 (launches take no
  // time), so layer 1 is held until s' + 32 ms. The second: s' = 0, s = 21: layer 1 could start at
  // 24, starts at 32, ends at 32 + 2 + 3 + 12 + 1 = 50 ms: 29 ms. The third: held to 21 + 32 = 53;
  // could start at 50 + 3 = 53: 21 ms. The fourth: 50 + 32 = 82 against 71 + 3: 8 ms more.
  REQUIRE(result.iteration_s.size() == 4);
  CHECK(result.iteration_s[0] == Approx(29e-3));
  CHECK(result.iteration_s[1] == Approx(21e-3));
  CHECK(result.iteration_s[2] == Approx(29e-3));
}

TEST_CASE("what is posted behind an iteration's end stands first in the next",
          "[training][operations]") {
  Script script;
  OperationId timer = -1;
  script.answer = [&](const Event& event, OperationId next) -> Operations {
    if (ends_backward(event)) {
      timer = next;
      return {HostWork{.thread = HostWork::no_thread, .time = Seconds{5e-3}, .label = "late"}};
    }
    if (is_done(event, timer)) {
      return {HostWork{.thread = HostWork::no_thread, .time = Seconds{40e-3}, .label = "later"},
              Gate{{next}}};
    }
    return {};
  };
  const auto result = fixture(1, 0, script).run();
  // Iteration 0 runs from 0 to 21 ms; at 2 + 5 ms, when all of it is launched, a gate is posted
  // that opens at 47: iteration 1 ends at 47 + 21 = 68. Its own gate opens at 21 + 47 = 68:
  // iteration 2 takes 21 ms, and then again.
  REQUIRE(result.iteration_s.size() == 4);
  CHECK(result.iteration_s[0] == Approx(47e-3));
  CHECK(result.iteration_s[1] == Approx(21e-3));
  CHECK(result.iteration_s[2] == Approx(47e-3));
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

TEST_CASE("independent workers iterate at their own pace, and their rates add up",
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

TEST_CASE("a flag that nobody raises is a deadlock that is told", "[training][operations]") {
  Script script;
  script.answer = [](const Event& event, OperationId next) -> Operations {
    if (!ends_backward(event)) return {};
    return {Flag{"never"}, Gate{{next}}};
  };
  const Fixture f = fixture(1, 0, script);
  CHECK_THROWS_AS(f.run(), SimulationError);
}
