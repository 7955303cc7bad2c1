#include "sim/train/rank_memory.hpp"

#include "tests/catch.hpp"
#include "tests/train/three_layers.hpp"

namespace gradwire {
namespace {

/// 768 parameters, 8 bytes of optimizer state each, 10 000 bytes of activations.
ComputeProfile profile(const std::string& dtype) {
  ComputeProfile made = test::toy_profile();
  made.gpu = "small";
  made.dtype = dtype;
  made.activations = Bytes{10'000};
  made.optimizer_state = Bytes{8};
  return made;
}

GpuSpec gpu_of(std::int64_t bytes) {
  GpuSpec gpu;
  gpu.memory_size = Bytes{bytes};
  return gpu;
}

}  // namespace

TEST_CASE("A rank keeps weights, optimizer, and gradients or activations, whichever is more",
          "[train][memory]") {
  const auto memory = rank_memory(profile("fp32"), gpu_of(20'000), {}, 1);
  REQUIRE(memory);
  CHECK(memory->weights == 4 * 768);
  CHECK(memory->gradients == 4 * 768);
  CHECK(memory->optimizer == 8 * 768);
  CHECK(memory->peak == 12 * 768 + 10'000);
  CHECK_FALSE(memory_warning(*memory, profile("fp32")));
  // gradients stay from micro-batch to micro-batch
  CHECK(rank_memory(profile("fp32"), gpu_of(20'000), {}, 2)->peak == 16 * 768 + 10'000);
}

TEST_CASE("Mixed precision keeps copies of whole weights, shards none", "[train][memory]") {
  CHECK(rank_memory(profile("bf16"), gpu_of(0), {}, 1)->weights == 6 * 768);
  Holding shard;
  shard.weights = shard.gradients = shard.optimizer = 0.25;
  shard.gathered = Bytes{500};
  shard.buffers = Bytes{100};
  const auto memory = rank_memory(profile("bf16"), gpu_of(0), shard, 1);
  CHECK(memory->weights == 768);
  CHECK(memory->optimizer == 2 * 768);
  CHECK(memory->peak == 3 * 768 + 500 + 100 + 10'000);
}

TEST_CASE("What does not fit is reported with its largest part", "[train][memory]") {
  const auto memory = rank_memory(profile("fp32"), gpu_of(15'000), {}, 1);
  const auto told = memory_warning(*memory, profile("fp32"));
  REQUIRE(told);
  CHECK(told->code == "memory");
  CHECK(told->text ==
        "toy with a batch of 8 does not fit: a GPU keeps some 19.22 kB at once, most of it "
        "activations; small has 15.00 kB");
}

TEST_CASE("A profile that knows no activations tells no memory", "[train][memory]") {
  CHECK_FALSE(rank_memory(test::toy_profile(), gpu_of(1), {}, 1));
}

}  // namespace gradwire
