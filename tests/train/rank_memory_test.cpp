#include "sim/train/rank_memory.hpp"

#include "tests/catch.hpp"
#include "tests/train/three_layers.hpp"

namespace gradwire {
namespace {

/// 768 parameters, 8 bytes of optimizer state each, 10 000 bytes of activations, 500 of logits.
ComputeProfile profile(const std::string& dtype) {
  ComputeProfile made = test::toy_profile();
  made.gpu = "small";
  made.dtype = dtype;
  made.activations = Bytes{10'000};
  made.logits = Bytes{500};
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
  // 10 000 of activations and 500 of logits are more than gradients of 4 bytes x 768
  const auto memory = rank_memory(profile("fp32"), gpu_of(1'000'000'000), {}, 1);
  REQUIRE(memory);
  CHECK(memory->weights == 4 * 768);
  CHECK(memory->gradients == 4 * 768);
  CHECK(memory->optimizer == 8 * 768);
  CHECK(memory->logits == 500);
  CHECK(memory->allocated == 12 * 768 + 10'500);
  // what 162 jobs on an H100 had reserved beyond their tensors
  CHECK(memory->slack == Approx(0.08 * (12 * 768 + 10'500)));
  CHECK(memory->context == 781 * 1024 * 1024);
  CHECK(memory->peak == memory->allocated + memory->slack + memory->context);
  CHECK_FALSE(memory_warning(*memory, profile("fp32")));
  // gradients stay from micro-batch to micro-batch
  const auto accumulating = rank_memory(profile("fp32"), gpu_of(0), {}, 2);
  CHECK(accumulating->allocated == 16 * 768 + 10'500);
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
  CHECK(memory->allocated == 3 * 768 + 500 + 100 + 10'500);
}

TEST_CASE("A model in two bytes has its copy in fp32 with the optimizer's state",
          "[train][memory]") {
  Holding held;
  held.mixed = MixedWeights::half;
  held.optimizer = 0.5;
  const auto memory = rank_memory(profile("fp16"), gpu_of(0), held, 1);
  CHECK(memory->weights == 2 * 768);
  CHECK(memory->gradients == 2 * 768);
  CHECK(memory->optimizer == 0.5 * (8 + 4) * 768);
  CHECK(rank_memory(profile("fp32"), gpu_of(0), held, 1)->weights == 4 * 768);
  // or it has none
  ComputeProfile pure = profile("bf16");
  pure.master_weights = false;
  CHECK(rank_memory(pure, gpu_of(0), {}, 1)->weights == 2 * 768);
  CHECK(rank_memory(pure, gpu_of(0), held, 1)->optimizer == 0.5 * 8 * 768);
}

TEST_CASE("What does not fit is reported with its largest part", "[train][memory]") {
  const std::int64_t context = 781 * 1024 * 1024;
  const auto memory = rank_memory(profile("fp32"), gpu_of(context + 15'000), {}, 1);
  CHECK_FALSE(fits(*memory));
  const auto told = memory_warning(*memory, profile("fp32"));
  REQUIRE(told);
  CHECK(told->code == "memory");
  CHECK(told->text ==
        "toy with a batch of 8 does not fit: a GPU keeps some 818.96 MB at once, most of it "
        "activations; small has 818.95 MB");
}

TEST_CASE("Slack alone does not keep a job from running", "[train][memory]") {
  // tensors of 12 x 768 + 10 500, slack of 8 % of them
  const std::int64_t context = 781 * 1024 * 1024;
  const auto memory = rank_memory(profile("fp32"), gpu_of(context + 20'000), {}, 1);
  CHECK(fits(*memory));
  const auto told = memory_warning(*memory, profile("fp32"));
  REQUIRE(told);
  CHECK(told->code == "memory-tight");
}

TEST_CASE("A profile that knows no activations gives no memory", "[train][memory]") {
  CHECK_FALSE(rank_memory(test::toy_profile(), gpu_of(1), {}, 1));
}

TEST_CASE("A job whose ranks keep more in host memory than their share of it does not fit",
          "[train][memory]") {
  Holding held;
  held.host = Bytes{2000};
  auto memory = rank_memory(profile("fp32"), gpu_of(0), held, 1);
  CHECK(memory->host == 2000);
  CHECK(fits(*memory));  // nobody says how much there is
  memory->host_capacity = 1500;
  CHECK_FALSE(fits(*memory));
  CHECK(memory_warning(*memory, profile("fp32"))->text ==
        "toy does not fit: a rank keeps 2.00 kB in its host's memory, where its share is 1.50 kB");
}

}  // namespace gradwire
