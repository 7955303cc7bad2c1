#include "sim/train/rank_memory.hpp"

#include "tests/catch.hpp"
#include "tests/train/scripted.hpp"

namespace gradwire {
namespace {

/// 768 parameters, 8 bytes of optimizer state each, 10 000 bytes of activations, 500 of logits,
/// which are there when forward ends, too.
ComputeProfile profile(const std::string& dtype) {
  ComputeProfile made = test::toy_profile();
  made.gpu = "small";
  made.dtype = dtype;
  made.activations = Bytes{10'000};
  made.logits = Bytes{500};
  made.forward_end = Bytes{10'500};
  made.casts = {.all = 768, .kept = 768};
  made.optimizer_state = Bytes{8};
  return made;
}

GpuSpec gpu_of(std::int64_t bytes) {
  GpuSpec gpu;
  gpu.memory_size = Bytes{bytes};
  // what 162 jobs on an H100 had reserved beyond their tensors, and nvidia-smi's of a process
  gpu.memory = {.slack_share = 0.08, .context = Bytes{781 * 1024 * 1024}};
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

TEST_CASE(
    "The lists that Adam makes lie beside weights, state and gradients, autocast's casts do not",
    "[train][memory]") {
  // torch/optim/adam.py, _multi_tensor_adam: the roots of second moments are a list as long as the
  // parameters; casts are gone when autocast ends. 4 + 8 + 4 + 4 bytes a parameter, as OPT 1.3B
  // took 24.57 GiB on an H100 (memory_h100-100: 1,315,758,080 x 20 B are 24.51)
  ComputeProfile made = profile("bf16");
  made.activations = Bytes{10};
  made.logits = Bytes{0};
  made.forward_end = Bytes{10};
  made.step_lists = Bytes{4};
  const auto memory = rank_memory(made, gpu_of(0), {}, 1);
  CHECK(memory->allocated == (4 + 8 + 4 + 4) * 768);
  CHECK(memory->step == 4 * 768);
  // one kernel makes none, and casts are gone when the last gradient is there
  Holding fused;
  fused.fused_step = true;
  CHECK(rank_memory(made, gpu_of(0), fused, 1)->allocated == (4 + 8 + 4) * 768);
  CHECK(rank_memory(made, gpu_of(0), fused, 1)->step == 0);
  // of a shard the list is as long as that
  Holding shard;
  shard.weights = shard.gradients = shard.optimizer = 0.25;
  CHECK(rank_memory(made, gpu_of(0), shard, 1)->allocated == (4 + 8 + 4 + 4) * 768 / 4);
  // activations that are more than what the step makes hide it
  made.activations = Bytes{8 * 768};
  CHECK(rank_memory(made, gpu_of(0), {}, 1)->allocated == (6 + 8 + 8) * 768);
  CHECK(rank_memory(made, gpu_of(0), {}, 1)->step == 0);
}

TEST_CASE(
    "Autocast keeps all casts until forward ends, then those that backward does not make again",
    "[train][memory]") {
  // torch/amp/autocast_mode.py, __exit__ clears the cache; torch/utils/checkpoint.py keeps no
  // tensor
  ComputeProfile made = profile("bf16");
  made.casts = {.all = 768, .kept = 100};
  // weights 4, state 8 bytes a parameter; 10 000 + 500 + 2 x 768 when forward ends
  CHECK(rank_memory(made, gpu_of(0), {}, 1)->allocated == 12 * 768 + 10'500 + 2 * 768);
  // in the loss's backward 2 x 100 of casts beside 3000 more of activations
  made.activations = Bytes{13'000};
  CHECK(rank_memory(made, gpu_of(0), {}, 1)->allocated == 12 * 768 + 13'500 + 2 * 100);
  // when most tensors are there: 16 000 of activations, 700 gradients of 4 bytes, 50 casts
  made.fullest = {.activations = Bytes{16'000}, .gradients = 700, .casts = 50};
  CHECK(rank_memory(made, gpu_of(0), {}, 1)->allocated == 12 * 768 + 16'000 + 4 * 700 + 2 * 50);
}

TEST_CASE("A step on copies of gradients in fp32 has them beside gradients of two bytes",
          "[train][memory]") {
  // Megatron Core's table: fp16 parameters and gradients without distributed optimizer 20 bytes
  Holding held;
  held.mixed = MixedWeights::half;
  held.fused_step = true;
  held.step = Bytes{4 * 768};
  ComputeProfile made = profile("fp16");
  made.activations = Bytes{10};
  made.logits = Bytes{0};
  made.forward_end = Bytes{10};
  CHECK(rank_memory(made, gpu_of(0), held, 1)->allocated == 20 * 768);
  // none where the model is in fp32, or the optimizer keeps no copy of it
  CHECK(rank_memory(
            [&] {
              auto full = made;
              full.dtype = "fp32";
              return full;
            }(),
            gpu_of(0), held, 1)
            ->allocated == 16 * 768);
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

TEST_CASE("What an optimizer's lists keep from fitting is told of steps without any",
          "[train][memory]") {
  const std::int64_t context = 781 * 1024 * 1024;
  ComputeProfile made = profile("fp32");
  made.activations = made.forward_end = Bytes{10};
  made.logits = Bytes{0};
  made.step_lists = Bytes{4};
  // weights, state, gradients and the lists: (4 + 8 + 4 + 4) x 768, of which 4 x 768 are lists
  const auto memory = rank_memory(made, gpu_of(context + 18 * 768), {}, 1);
  CHECK_THAT(memory_warning(*memory, made)->text,
             Catch::EndsWith("; 'optimizer_step' fused or loop makes no lists, here 3.07 kB"));
  Holding fused;
  fused.fused_step = true;
  CHECK(fits(*rank_memory(made, gpu_of(context + 18 * 768), fused, 1)));
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

TEST_CASE("What does not fit is refused before an iteration is replayed", "[train][memory]") {
  int events = 0;
  test::Script script;
  script.answer = [&](const Event&, OperationId) {
    ++events;
    return Operations{};
  };
  test::Fixture job = test::fixture(2, 0, script);
  job.profile = profile("fp32");
  job.gpu.memory_size = Bytes{781 * 1024 * 1024 + 15'000};
  job.gpu.memory = gpu_of(0).memory;
  CHECK_THROWS_AS(job.run(), DoesNotFit);
  CHECK(events == 0);
  const RingLibrary library = job.library();
  Job anyway = job.job(library);
  anyway.run.ignore_memory = true;
  CHECK_FALSE(fits(*simulate(anyway).memory));
  CHECK(events > 0);
}

}  // namespace gradwire
