#include "strategies/all_reduce/autodist_all_reduce.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

std::vector<std::int64_t> hook(AutodistAllReduce& strategy, TensorId tensor) {
  return collective_sizes(strategy.on_event(Seconds{}, HookFired{.tensor = tensor}));
}

}  // namespace

// Five variables in chunks of two, from the first: {0, 1}, {2, 3}, {4}; of 40, 80, 120, 160, 200
// bytes: groups of 120, 280, 200.
TEST_CASE("AutoDist over NCCL reduces a group behind its last gradient", "[autodist]") {
  AutodistAllReduce strategy({.chunk_size = 2}, toy_job({10, 20, 30, 40, 50}));
  CHECK(hook(strategy, 4) == std::vector<std::int64_t>{200});  // operation 0
  CHECK(hook(strategy, 3).empty());
  CHECK(hook(strategy, 2) == std::vector<std::int64_t>{280});  // 1
  CHECK(hook(strategy, 1).empty());
  CHECK(hook(strategy, 0) == std::vector<std::int64_t>{120});  // 2
  const auto done = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(done.size() == 4);
  CHECK(std::get<Gate>(done[0]).until == std::vector<OperationId>{0, 1, 2});
  // A mean reads and writes its group once.
  CHECK(std::get<DeviceWork>(done[2]).traffic == Bytes{2 * 280});
  CHECK(hook(strategy, 4) == std::vector<std::int64_t>{200});  // and so the next iteration
}

TEST_CASE("AutoDist over TensorFlow's ring reduces the same groups behind backward", "[autodist]") {
  AutodistAllReduce strategy({.chunk_size = 2, .spec = AllReduceSpec::ring},
                             toy_job({10, 20, 30, 40, 50}));
  for (const TensorId tensor : {4, 3, 2, 1, 0}) CHECK(hook(strategy, tensor).empty());
  const auto done = strategy.on_event(Seconds{}, BackwardDone{});
  CHECK(collective_sizes(done) == std::vector<std::int64_t>{200, 280, 120});
  CHECK(std::get<Gate>(done[3]).until == std::vector<OperationId>{0, 1, 2});
  // Four ranks: of 280 bytes each adds three parts of 70, 3 x 3 x 70, and divides one, 2 x 70.
  CHECK(std::get<DeviceWork>(done[5]).traffic == Bytes{770});
}

TEST_CASE("AutoDist synchronises nothing on one rank", "[autodist]") {
  JobView job = toy_job({10});
  job.world_size = 1;
  AutodistAllReduce strategy({}, job);
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  CHECK(strategy.on_event(Seconds{}, BackwardDone{}).empty());
}

TEST_CASE("AutoDist exchanges nothing before the last micro-batch", "[autodist]") {
  AutodistAllReduce strategy({}, toy_job({10}, 2));
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 0}).empty());
  CHECK(strategy.on_event(Seconds{}, BackwardDone{.micro_batch = 0}).empty());
  CHECK(strategy.on_event(Seconds{}, HookFired{.tensor = 0, .micro_batch = 1}).size() == 1);
}
