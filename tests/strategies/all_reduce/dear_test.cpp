#include "strategies/all_reduce/dear.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// A group a module.
constexpr DearOptions single{.threshold = Bytes{1}};

std::vector<std::vector<TensorId>> groups_of(const DearOptions& options, const JobView& job) {
  DearOptions forward_only = options;
  forward_only.exclude_reducescatter = true;
  std::vector<std::vector<TensorId>> groups;
  for (auto& group : Dear(forward_only, job).plan(1)) groups.push_back(group.tensors);
  return groups;
}

Words on(Dear& dear, const Event& event) {
  return describe(dear.on_event(Seconds{}, event));
}

}  // namespace

TEST_CASE("DeAR's groups stay below the threshold, in forward order", "[dear]") {
  // 40, 40, 20, 80 and 40 bytes; 40 + 40 < 100, + 20 is not below 100; 20 + 80 is not.
  const auto job = toy_job({10, 10, 5, 20, 10});
  CHECK(groups_of({.threshold = Bytes{100}}, job) ==
        std::vector<std::vector<TensorId>>{{0, 1}, {2}, {3}, {4}});
  CHECK(groups_of({.num_nearby_layers = 2}, job) ==
        std::vector<std::vector<TensorId>>{{0, 1}, {2, 3}, {4}});
  CHECK(groups_of({.num_nearby_layers = -1}, job) ==
        std::vector<std::vector<TensorId>>{{0, 1, 2, 3, 4}});
}

TEST_CASE("DeAR pads a group by P minus the remainder, and by P where there is none", "[dear]") {
  // Four ranks: 10 + (4 - 2) = 12 and 8 + 4 = 12 elements of 4 bytes.
  const auto plan = Dear(single, toy_job({10, 8})).plan(1);
  for (const auto& group : plan) CHECK(group.size == Bytes{12 * 4});
  CHECK(plan.size() == 4);  // two all-gathers and two reduce-scatters
}

TEST_CASE("DeAR scatters in backward, gathers one group ahead in the next forward", "[dear]") {
  Dear dear(single, toy_job({10, 20}));
  CHECK(on(dear, ForwardStart{.layer = 0}).empty());  // no step was taken yet
  CHECK(on(dear, HookFired{.tensor = 1}) == Words{"copy into buffer", "reduce-scatter group 1"});
  CHECK(on(dear, HookFired{.tensor = 0}) == Words{"copy into buffer", "reduce-scatter group 0"});
  CHECK(on(dear, BackwardDone{}) == Words{"gate 3 1"});  // 4
  CHECK(on(dear, OperationDone{1}).empty());
  CHECK(on(dear, OperationDone{3}) == Words{"all-gather group 0"});  // 5, after all scatters

  // Forward waits for group 0, copies back, divides, and updates 10 of 30 elements.
  const auto first = dear.on_event(Seconds{}, ForwardStart{.layer = 0});
  CHECK(describe(first) == Words{"gate 5", "copy back and divide", "optimizer 0.3333"});  // 6 to 8
  CHECK(std::get<DeviceWork>(first[1]).traffic == Bytes{2 * 2 * 10 * 4});
  SECTION("the launcher comes to the next group before its all-gather is posted") {
    CHECK(on(dear, ForwardStart{.layer = 1}) ==
          Words{"flag: group 1 gathered", "gate 9", "copy back and divide", "optimizer 0.6667"});
    CHECK(on(dear, OperationDone{5}) == Words{"all-gather group 1"});  // 13
    CHECK(on(dear, OperationDone{13}) == Words{"raise 9"});
  }
  SECTION("the all-gather ends first") {
    CHECK(on(dear, OperationDone{5}) == Words{"all-gather group 1"});  // 9
    CHECK(on(dear, OperationDone{9}).empty());
    CHECK(on(dear, ForwardStart{.layer = 1}) == Words{"copy back and divide", "optimizer 0.6667"});
  }
}

TEST_CASE("an all-gather is not started before forward has come to the group before", "[dear]") {
  Dear dear(single, toy_job({10, 20}));
  for (const TensorId tensor : {1, 0}) on(dear, HookFired{.tensor = tensor});
  on(dear, BackwardDone{});
  on(dear, OperationDone{1});
  on(dear, OperationDone{3});  // posts 5
  CHECK(on(dear, OperationDone{5}).empty());
  CHECK(on(dear, ForwardStart{.layer = 0})[0] == "all-gather group 1");
}

TEST_CASE("DeAR's launcher runs ahead of its all-gathers", "[dear]") {
  Dear dear(single, toy_job({10, 20}));
  const auto backward = [&] {
    for (const TensorId tensor : {1, 0}) on(dear, HookFired{.tensor = tensor});
    return on(dear, BackwardDone{});
  };
  backward();  // reduce-scatters 1, 3; gate 4
  on(dear, OperationDone{1});
  on(dear, OperationDone{3});  // all-gather 5
  on(dear, IterationStart{1});
  on(dear, ForwardStart{.layer = 0});  // 6 to 8
  on(dear, ForwardStart{.layer = 1});  // 9 to 12, waiting for flag 9
  backward();                          // all of the iteration is launched: 13 to 17
  CHECK(on(dear, OperationDone{5}) == Words{"all-gather group 1"});  // 18
  CHECK(on(dear, OperationDone{18}) == Words{"raise 9"});
  on(dear, OperationDone{14});
  CHECK(on(dear, OperationDone{16}) == Words{"all-gather group 0"});
}

TEST_CASE("DeAR leaves parts out to time the others", "[dear]") {
  DearOptions options = single;
  SECTION("no reduce-scatter: all-gathers start when backward has run") {
    options.exclude_reducescatter = true;
    Dear dear(options, toy_job({10}));
    CHECK(on(dear, HookFired{.tensor = 0}).empty());
    CHECK(on(dear, BackwardDone{}) == Words{"ready"});
    CHECK(on(dear, OperationDone{0}) == Words{"all-gather group 0"});
    CHECK(on(dear, ForwardStart{.layer = 0})[0] == "gate 1");
  }
  SECTION("no all-gather hooks: forward neither waits nor updates") {
    options.exclude_allgather = true;
    Dear dear(options, toy_job({10}));
    on(dear, HookFired{.tensor = 0});
    on(dear, BackwardDone{});
    CHECK(on(dear, OperationDone{1}) == Words{"all-gather group 0"});  // step() starts it still
    CHECK(on(dear, ForwardStart{.layer = 0}).empty());
  }
  SECTION("neither: the first all-gather is left, and nothing waits for it") {
    options.exclude_reducescatter = true;
    options.exclude_allgather = true;
    Dear dear(options, toy_job({10, 20}));
    CHECK(on(dear, HookFired{.tensor = 1}).empty());
    CHECK(on(dear, BackwardDone{}) == Words{"ready"});
    CHECK(on(dear, OperationDone{0}) == Words{"all-gather group 0"});  // as in _bp_barrier
    CHECK(on(dear, ForwardStart{.layer = 0}).empty());
    CHECK(on(dear, OperationDone{1}).empty());
  }
}

TEST_CASE("DeAR communicates in the last micro-batch and updates in the first", "[dear]") {
  Dear dear(single, toy_job({10}, 2));
  CHECK(on(dear, HookFired{.tensor = 0, .micro_batch = 0}).empty());
  CHECK(on(dear, BackwardDone{.micro_batch = 0}).empty());
  CHECK(on(dear, HookFired{.tensor = 0, .micro_batch = 1}).size() == 2);
  on(dear, BackwardDone{.micro_batch = 1});
  CHECK_FALSE(on(dear, ForwardStart{.layer = 0, .micro_batch = 0}).empty());
  CHECK(on(dear, ForwardStart{.layer = 0, .micro_batch = 1}).empty());
}

TEST_CASE("DeAR on one rank is a plain optimizer", "[dear]") {
  auto job = toy_job({10});
  job.world_size = 1;
  Dear dear(single, job);
  CHECK_FALSE(dear.traits().own_optimizer);
  CHECK(on(dear, HookFired{.tensor = 0}).empty());
  CHECK(on(dear, BackwardDone{}).empty());
}
