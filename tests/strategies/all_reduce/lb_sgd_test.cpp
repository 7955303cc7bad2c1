#include "strategies/all_reduce/lb_sgd.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("LB-SGD's step takes the last iteration's gradients and sends its own", "[lb_sgd]") {
  LbSgd strategy({}, toy_job({10, 20}));
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 1}).empty());
  // The first step has nothing to wait for: operations 0 and 1.
  const auto first = strategy.on_event(Seconds{}, BackwardDone{});
  CHECK(describe(first) ==
        Words{"swap with the last batch's gradients", "all-reduce of all gradients"});
  CHECK(std::get<Collective>(first[1]).size == Bytes{30 * 4});
  // Four kernels a tensor, each reads and writes it once.
  CHECK(std::get<DeviceWork>(first[0]).kernels == 2 * 4);
  CHECK(std::get<DeviceWork>(first[0]).traffic == Bytes{4 * 2 * 30 * 4});
  CHECK(describe(strategy.on_event(Seconds{}, BackwardDone{})) ==
        Words{"gate 1", "swap with the last batch's gradients", "all-reduce of all gradients"});
  // 2 the gate, 3 the swap, 4 the second all-reduce.
  CHECK(describe(strategy.on_event(Seconds{}, BackwardDone{}))[0] == "gate 4");
}

TEST_CASE("LB-SGD's warm-up steps are synchronous", "[lb_sgd]") {
  LbSgd strategy({.warmup_steps = 1}, toy_job({10, 20}));
  CHECK(describe(strategy.on_event(Seconds{}, BackwardDone{})) ==
        Words{"copy into buffer", "all-reduce of all gradients", "gate 1", "divide", "copy back"});
  // The first stale step waits for nothing.
  CHECK(strategy.on_event(Seconds{}, IterationStart{.iteration = 1}).empty());
  CHECK(describe(strategy.on_event(Seconds{}, BackwardDone{}))[0] ==
        "swap with the last batch's gradients");
}

TEST_CASE("LB-SGD communicates once an optimizer step, and not on one rank", "[lb_sgd]") {
  LbSgd accumulating({}, toy_job({10}, 2));
  CHECK(accumulating.on_event(Seconds{}, BackwardDone{.micro_batch = 0}).empty());
  CHECK(accumulating.on_event(Seconds{}, BackwardDone{.micro_batch = 1}).size() == 2);
  auto job = toy_job({10});
  job.world_size = 1;
  CHECK(LbSgd({}, job).on_event(Seconds{}, BackwardDone{}).empty());
}
