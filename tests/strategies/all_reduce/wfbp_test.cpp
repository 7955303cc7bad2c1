#include "strategies/all_reduce/fixed_groups.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("WFBP reduces each tensor from its hook, in place, and waits for all", "[wfbp]") {
  const auto wfbp = make_wfbp(toy_job({10, 20}));
  const auto first = wfbp->on_event(Seconds{}, HookFired{.tensor = 1});
  REQUIRE(first.size() == 1);  // no copy
  CHECK(collective_sizes(first) == std::vector<std::int64_t>{80});
  CHECK(collective_sizes(wfbp->on_event(Seconds{}, HookFired{.tensor = 0})) ==
        std::vector<std::int64_t>{40});
  const auto done = wfbp->on_event(Seconds{}, BackwardDone{});
  REQUIRE(done.size() == 1);
  CHECK(std::get<Gate>(done[0]).until == std::vector<OperationId>{0, 1});

  SECTION("the next iteration waits for its own collectives only") {
    wfbp->on_event(Seconds{}, HookFired{.tensor = 1});  // operation 3: 2 was the gate
    wfbp->on_event(Seconds{}, HookFired{.tensor = 0});
    const auto again = wfbp->on_event(Seconds{}, BackwardDone{});
    CHECK(std::get<Gate>(again[0]).until == std::vector<OperationId>{3, 4});
  }
}

TEST_CASE("WFBP's plan has one group a tensor in gradient order", "[wfbp]") {
  const auto plan = make_wfbp(toy_job({10, 20}))->plan(0);
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].tensors == std::vector<TensorId>{1});
  CHECK(plan[1].size == Bytes{40});
}
