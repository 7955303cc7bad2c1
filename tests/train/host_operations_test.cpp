#include <algorithm>
#include <string>

#include "sim/train/plans.hpp"
#include "tests/catch.hpp"
#include "tests/train/scripted.hpp"

using namespace gradwire;
using namespace gradwire::test;

// Toy profile: 2 ms between iterations, forward 1, 2, 3 ms, backward of l3, l2, l1 6, 4, 2 ms,
// optimizer 1 ms: gradients of l3, l2, l1 are ready at 14, 18 and 20 ms of an iteration of 21 ms.

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

TEST_CASE("what a thread does beside another ends as two works of both would",
          "[training][operations]") {
  // Threads 0 and 1 are busy for 40 and 10 ms; the work then takes 20 ms of the one and 80 of the
  // other.
  const HostWork first{.thread = 0, .time = Seconds{40e-3}, .label = "first"};
  const HostWork second{.thread = 1, .time = Seconds{10e-3}, .label = "second"};
  const HostWork on_0{.thread = 0, .time = Seconds{20e-3}, .label = "sum"};
  const HostWork on_1{.thread = 1, .time = Seconds{80e-3}, .label = "sum"};
  HostWork both = on_0;
  both.beside = HostWork::Beside{.thread = 1, .time = on_1.time};
  const auto run = [&](const Operations& posted) {
    Script script;
    script.answer = [&](const Event& event, OperationId next) -> Operations {
      if (!ends_backward(event)) return {};
      Operations operations = posted;
      Gate all;
      for (std::size_t i = 0; i < posted.size(); ++i) {
        all.until.push_back(next + static_cast<OperationId>(i));
      }
      operations.push_back(std::move(all));
      return operations;
    };
    const auto result = fixture(1, 0, script).run();
    return std::pair(result.iteration_s, part(result, Part::host));
  };
  const auto together = run({first, second, both});
  CHECK(together == run({first, second, on_0, on_1}));
  // All is launched 2 ms after the start; then max(40 + 20, 10 + 80), and the optimizer takes 1.
  for (const double t : together.first) CHECK(t == Approx(93e-3));
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
