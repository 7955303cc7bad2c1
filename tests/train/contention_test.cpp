#include "sim/train/contention.hpp"

#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::literals;

TEST_CASE("Matrix products and convolutions are bound by arithmetic, all else by memory",
          "[train][contention]") {
  for (const char* kind : {"conv1", "conv3", "conv7", "grouped_conv", "linear"}) {
    CHECK(bound_of(kind) == Bound::arithmetic);
  }
  for (const char* kind : {"norm", "act", "add", "embed", "optimizer", "copy", "encode"}) {
    CHECK(bound_of(kind) == Bound::memory);
  }
}

TEST_CASE("Compute has what a communication kernel leaves of the GPU", "[train][contention]") {
  const GpuCapacity gpu{.multiprocessors = 80, .memory = 800_GBps};
  const Slowdown slow = slowdown(gpu, {.blocks = 16, .memory = 200_GBps});
  CHECK(slow.of(Bound::arithmetic) == Approx(80.0 / 64));
  CHECK(slow.of(Bound::memory) == Approx(800.0 / 600));
  // Two that both want all of the memory have half of it each.
  CHECK(slowdown(gpu, {.blocks = 16, .memory = 700_GBps}).memory == Approx(2));
  CHECK(slowdown({}, {.blocks = 16, .memory = 200_GBps}).arithmetic == 1);
  CHECK(slowdown({}, {.blocks = 16, .memory = 200_GBps}).memory == 1);
}

TEST_CASE("A kernel that waits for late ranks holds multiprocessors and moves nothing",
          "[train][contention]") {
  CollectiveCost cost;
  cost.uncontended = 2_ms;
  cost.kernel = {.blocks = 24, .traffic = 400_MB};
  CHECK(waiting_load(cost.kernel) == GpuLoad{.blocks = 24, .memory = {}});
  CHECK(moving_load(cost) == GpuLoad{.blocks = 24, .memory = 200_GBps});
  cost.uncontended.reset();  // a library that tells no time
  CHECK(moving_load(cost).memory == BytesPerSecond{});
}
