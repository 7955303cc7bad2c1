#include "strategies/all_reduce/fixed_groups.hpp"

#include "strategies/all_reduce/none.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("BSP copies each gradient and reduces all of them once after backward", "[bsp]") {
  const auto bsp = make_bsp(toy_job({10, 20, 30}));
  CHECK(bsp->on_event(Seconds{}, IterationStart{0}).empty());
  const auto copied = bsp->on_event(Seconds{}, HookFired{.tensor = 2});
  REQUIRE(copied.size() == 1);
  CHECK(std::get<DeviceWork>(copied[0]).traffic == Bytes{2 * 30 * 4});  // read and written, fp32
  bsp->on_event(Seconds{}, HookFired{.tensor = 1});
  bsp->on_event(Seconds{}, HookFired{.tensor = 0});
  const auto operations = bsp->on_event(Seconds{}, BackwardDone{});
  CHECK(collective_sizes(operations) == std::vector<std::int64_t>{(10 + 20 + 30) * 4});
  // Three copies were operations 0 to 2, so the gate waits for number 3.
  CHECK(std::get<Gate>(operations.back()).until == std::vector<OperationId>{3});
}

TEST_CASE("BSP waits for the last of several backward passes", "[bsp]") {
  const auto bsp = make_bsp(toy_job({10}, 2));
  CHECK(bsp->on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 0}).empty());
  CHECK(bsp->on_event(Seconds{}, BackwardDone{.micro_batch = 0}).empty());
  bsp->on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 1});
  CHECK(bsp->on_event(Seconds{}, BackwardDone{.micro_batch = 1}).size() == 2);
}

TEST_CASE("no strategy posts nothing", "[none]") {
  NoCommunication none;
  CHECK(none.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  CHECK(none.on_event(Seconds{}, BackwardDone{}).empty());
  CHECK(none.plan(0).empty());
}
