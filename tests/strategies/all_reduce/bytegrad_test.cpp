#include "strategies/all_reduce/bytegrad.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Two machines of two ranks, one tensor of 100 elements.
JobView two_machines() {
  return toy_job_on({0, 0, 1, 1}, {100});
}

/// Ends one operation after the other from `first` on, and gathers what follows.
Operations steps_of(Strategy& strategy, OperationId first) {
  Operations all;
  for (OperationId operation = first;; ++operation) {
    auto next = strategy.on_event(Seconds{}, OperationDone{operation});
    if (next.empty()) return all;
    all.insert(all.end(), next.begin(), next.end());
  }
}

}  // namespace

TEST_CASE("a bucket is summed in the machine, scattered and gathered as bytes, and spread",
          "[bytegrad]") {
  ByteGrad strategy({}, two_machines());
  strategy.on_event(Seconds{}, IterationStart{0});                // 0 flag
  strategy.on_event(Seconds{}, HookFired{.tensor = 0});           // 1 ready
  const auto end = strategy.on_event(Seconds{}, BackwardDone{});  // 2 gate
  CHECK(std::get<Gate>(end[0]).until == std::vector<OperationId>{0});
  const auto sum = strategy.on_event(Seconds{}, OperationDone{1});
  REQUIRE(sum.size() == 1);  // 3
  CHECK(std::get<Collective>(sum[0]).kind == CollectiveKind::reduce);
  CHECK(std::get<Collective>(sum[0]).communicator == families::node);
  const auto steps = steps_of(strategy, 3);
  REQUIRE(steps.size() == 7);
  const std::vector<CollectiveKind> kinds = {CollectiveKind::all_to_all, CollectiveKind::all_gather,
                                             CollectiveKind::broadcast};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& moved = std::get<Collective>(steps[2 * i + 1]);
    CHECK(moved.kind == kinds[i]);
    // Two chunks of 50 bytes and 8 of range; fp32 in the machine.
    CHECK(moved.size == Bytes{i < 2 ? 2 * (50 + 8) : 400});
    CHECK(moved.communicator == (i < 2 ? families::leaders : families::node));
  }
  // Quantising reads 400 bytes twice and writes 116; decoding reads 116 and writes 400; between
  // them chunks are decoded and read, 916 bytes, and half of what quantising moves comes on top.
  CHECK(std::get<DeviceWork>(steps[0]).traffic == Bytes{916});
  CHECK(std::get<DeviceWork>(steps[2]).traffic == Bytes{916 + 458});
  CHECK(std::get<DeviceWork>(steps[4]).traffic == Bytes{516});
  CHECK(std::get<Raise>(steps[6]).flag == 0);
}

TEST_CASE("QAdam's momentum is updated before it is summed", "[bytegrad]") {
  ByteGrad strategy({.momentum = true}, two_machines());
  strategy.on_event(Seconds{}, IterationStart{0});       // 0 flag
  strategy.on_event(Seconds{}, HookFired{.tensor = 0});  // 1 ready
  strategy.on_event(Seconds{}, BackwardDone{});          // 2 gate
  const auto update = strategy.on_event(Seconds{}, OperationDone{1});
  REQUIRE(update.size() == 1);
  // The momentum is read and written, then read and written again with the gradient: 5 * 400 bytes.
  CHECK(std::get<DeviceWork>(update[0]).traffic == Bytes{2000});
  CHECK(std::get<DeviceWork>(update[0]).kernels == 2);
  const auto sum = strategy.on_event(Seconds{}, OperationDone{3});
  CHECK(std::get<Collective>(sum[0]).kind == CollectiveKind::reduce);
}

TEST_CASE("buckets are filled in gradient order and go one after the other", "[bytegrad]") {
  auto job = toy_job_on({0, 1, 2, 3}, {10, 20, 30});
  ByteGrad strategy({.hierarchical = true, .bucket = Bytes{200}}, job);
  const auto plan = strategy.plan(0);
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].tensors == std::vector<TensorId>{2, 1});
  CHECK(plan[1].tensors == std::vector<TensorId>{0});
  strategy.on_event(Seconds{}, IterationStart{0});  // 0 flag
  for (const TensorId id : {2, 1, 0})
    strategy.on_event(Seconds{}, HookFired{.tensor = id});  // 1, 2
  // One GPU a machine: nothing to sum before.
  const auto first = strategy.on_event(Seconds{}, OperationDone{1});  // 3
  REQUIRE(first.size() == 1);
  CHECK(std::get<DeviceWork>(first[0]).label == "quantise");
  CHECK(strategy.on_event(Seconds{}, OperationDone{2}).empty());
  const auto steps = steps_of(strategy, 3);
  // Four more of the first bucket, five of the second, the flag.
  CHECK(steps.size() == 4 + 5 + 1);
}
