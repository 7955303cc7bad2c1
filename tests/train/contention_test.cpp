#include "sim/train/contention.hpp"

#include "sim/config/cluster/gpu_yaml.hpp"
#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::literals;

TEST_CASE("Matrix products and convolutions are bound by arithmetic, all else by memory",
          "[train][contention]") {
  CHECK(bound_of("linear") == Bound::product);
  for (const char* kind : {"conv1", "conv3", "conv7", "grouped_conv"}) {
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

TEST_CASE("An H100's products beside 16 blocks take as long as was measured",
          "[train][contention]") {
  // 4096 x 4096 x 4096 in TF32, recorded by us: 355.5 us alone; 1.561, and beside 32 blocks 1.811
  // times as long. Three by three convolutions: 1.19 and 1.264.
  const auto gpu = config::shipped_gpu("h100-sxm5-80gb", {});
  const auto beside = [&](int blocks) {
    return slowdown(capacity_of(gpu), {.blocks = blocks, .memory = {}});
  };
  CHECK(beside(16).of(Bound::product) == Approx(1.561).epsilon(0.01));
  CHECK(beside(32).of(Bound::product) == Approx(1.811).epsilon(0.01));
  CHECK(beside(16).of(Bound::arithmetic) == Approx(1.19).epsilon(0.05));
  CHECK(beside(32).of(Bound::arithmetic) == Approx(1.264).epsilon(0.05));
  CHECK(beside(0).of(Bound::product) == 1);
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
