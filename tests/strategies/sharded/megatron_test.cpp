#include "strategies/sharded/megatron.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

struct Driver {
  Megatron strategy;
  Words on(const Event& event) { return describe(strategy.on_event(Seconds{}, event)); }
};

/// Four ranks; matrices of 100, 200, 300 and 400 elements, a layer each.
JobView matrices(int micro_batches = 1) {
  JobView job = toy_job({100, 200, 300, 400}, micro_batches);
  for (TensorInfo& tensor : job.tensors) tensor.shape = {tensor.elements / 10, 10};
  job.layers.resize(job.tensors.size());
  return job;
}

constexpr MegatronOptions overlapped{.overlap_grad_reduce = true,
                                     .overlap_param_gather = true,
                                     .ddp_bucket_size = 500,
                                     .ddp_average_in_collective = true};

}  // namespace

TEST_CASE("Megatron's bucket is the larger of 40e6 parameters and 1e6 a rank", "[megatron]") {
  CHECK(megatron_bucket_size(8) == 40'000'000);
  CHECK(megatron_bucket_size(40) == 40'000'000);
  CHECK(megatron_bucket_size(128) == 128'000'000);
}

TEST_CASE("Megatron cuts a bucket behind the parameter with which it is full, from the last on",
          "[megatron]") {
  const Megatron megatron(overlapped, matrices());
  const auto plan = megatron.plan(0);
  REQUIRE(plan.size() == 4);
  // 400 + 300 >= 500, then 200 + 100; padded to lcm(4, 128)
  CHECK(plan[0].tensors == std::vector<TensorId>{3, 2});
  CHECK(plan[0].size == Bytes{768 * 4});
  CHECK(plan[1].tensors == std::vector<TensorId>{1, 0});
  CHECK(plan[1].size == Bytes{384 * 4});
  // gathered in the order of forward
  CHECK(plan[2].tensors == plan[1].tensors);
  MegatronOptions options = overlapped;
  options.ddp_pad_buckets_for_high_nccl_busbw = true;
  CHECK(Megatron(options, matrices()).plan(0)[1].size == Bytes{65536 * 4});
}

TEST_CASE("Megatron reduces in the last micro-batch's backward, gathers in the next forward",
          "[megatron]") {
  Driver megatron{{overlapped, matrices(2)}};
  CHECK(megatron.on(ForwardStart{.layer = 0}).empty());  // nothing was updated yet
  for (const TensorId tensor : {3, 2, 1, 0})
    CHECK(megatron.on(HookFired{.tensor = tensor}).empty());
  CHECK(megatron.on(BackwardDone{}).empty());
  CHECK(megatron.on(HookFired{.tensor = 3, .micro_batch = 1}).empty());
  CHECK(megatron.on(HookFired{.tensor = 2, .micro_batch = 1}) == Words{"reduce-scatter bucket"});
  megatron.on(HookFired{.tensor = 1, .micro_batch = 1});
  megatron.on(HookFired{.tensor = 0, .micro_batch = 1});
  CHECK(megatron.on(BackwardDone{.micro_batch = 1}) ==
        Words{"gate 0 1", "optimizer 0.25", "zero buffer"});
  // the first layer's bucket is gathered and waited for, then the next one issued
  CHECK(megatron.on(ForwardStart{.layer = 0}) ==
        Words{"all-gather bucket", "gate 5", "all-gather bucket"});
  CHECK(megatron.on(ForwardStart{.layer = 1}).empty());
  CHECK(megatron.on(ForwardStart{.layer = 2}) == Words{"gate 7"});
  CHECK(megatron.on(ForwardStart{.layer = 0, .micro_batch = 1}).empty());
}

TEST_CASE("Megatron without overlap has one bucket, and compute waits", "[megatron]") {
  MegatronOptions options;
  options.parameter_bytes = 2;
  Driver megatron{{options, matrices()}};
  for (const TensorId tensor : {3, 2, 1}) CHECK(megatron.on(HookFired{.tensor = tensor}).empty());
  CHECK(megatron.on(HookFired{.tensor = 0}) == Words{"scale bucket", "reduce-scatter bucket"});
  CHECK(megatron.on(BackwardDone{}) == Words{"gate 1", "optimizer 0.25", "copy main parameters",
                                             "all-gather bucket", "gate 5", "zero buffer"});
  // gradients are reduced in fp32, parameters gathered in two bytes; 1000 padded to 1024
  CHECK(megatron.strategy.plan(0)[0].size == Bytes{1024 * 4});
  CHECK(megatron.strategy.plan(0)[1].size == Bytes{1024 * 2});
  options.use_distributed_optimizer = false;
  Driver whole{{options, matrices()}};
  for (const TensorId tensor : {3, 2, 1, 0}) whole.on(HookFired{.tensor = tensor});
  CHECK(whole.on(BackwardDone{}) ==
        Words{"gate 1", "optimizer 1", "copy main parameters", "zero buffer"});
}

TEST_CASE("Megatron adds a gradient to its buffer by a kernel unless the product does it",
          "[megatron]") {
  JobView job = matrices();
  job.tensors[3].shape = {400};  // a norm's
  Driver fused{{overlapped, job}};
  CHECK(fused.on(HookFired{.tensor = 3}) == Words{"add to buffer"});
  CHECK(fused.on(HookFired{.tensor = 2}) == Words{"reduce-scatter bucket"});
  MegatronOptions options = overlapped;
  options.gradient_accumulation_fusion = false;
  Driver added{{options, job}};
  CHECK(added.on(HookFired{.tensor = 2}) == Words{"add to buffer"});
}

TEST_CASE(
    "Megatron's ranks keep whole weights and a buffer of gradients in fp32, shards of the "
    "optimizer",
    "[megatron]") {
  MegatronOptions options;
  options.parameter_bytes = 2;
  const Holding held = Megatron(options, matrices()).holding();
  CHECK(held.weights == 1);
  CHECK(held.gradients == 0);
  CHECK(held.optimizer == 0.25);
  CHECK(held.buffers == Bytes{1024 * 4});
  CHECK(held.mixed == MixedWeights::half);
  CHECK(held.step == Bytes{0});
  options.use_distributed_optimizer = false;
  CHECK(Megatron(options, matrices()).holding().optimizer == 1);
}

TEST_CASE("Megatron's step copies gradients of two bytes to fp32, a shard of them where it has one",
          "[megatron]") {
  // Megatron Core's guide, distributed optimizer: fp16 parameters and gradients 20 bytes, or
  // 4 + 16 / d; 2 + 2 + 4 of the copy + 12 of the optimizer
  MegatronOptions options;
  options.parameter_bytes = options.reduce_bytes = 2;
  CHECK(Megatron(options, matrices()).holding().step == Bytes{1024 / 4 * 4});
  options.use_distributed_optimizer = false;
  const Holding whole = Megatron(options, matrices()).holding();
  CHECK(whole.step.count() == 2 * whole.buffers.count());  // that buffer, in fp32
}
