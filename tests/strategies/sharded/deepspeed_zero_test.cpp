#include "strategies/sharded/deepspeed_zero.hpp"

#include "strategies/sharded/megatron.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

struct Driver {
  DeepSpeedZero strategy;
  Words on(const Event& event) { return describe(strategy.on_event(Seconds{}, event)); }
};

/// Gradients of 30, 20 and 10 elements come in this order, in two bytes.
JobView half_job(int micro_batches = 1) {
  JobView job = toy_job({10, 20, 30}, micro_batches);
  job.element_size = 2;
  return job;
}

}  // namespace

TEST_CASE("DeepSpeed reduces what is in the bucket when a gradient would overflow it",
          "[deepspeed]") {
  Driver zero{{{.stage = 2, .reduce_bucket_size = 50}, half_job()}};
  CHECK(zero.on(HookFired{.tensor = 2}) == Words{"copy into bucket"});
  CHECK(zero.on(HookFired{.tensor = 1}) == Words{"copy into bucket"});
  // compute waits: without overlap_comm there is one buffer
  CHECK(zero.on(HookFired{.tensor = 0}) ==
        Words{"divide", "concatenate", "all-reduce bucket", "gate 4", "copy into bucket"});
  CHECK(zero.on(BackwardDone{}) == Words{"divide", "concatenate", "all-reduce bucket", "gate 9",
                                         "optimizer 0.25", "all-gather partitions", "gate 12"});
  const auto plan = zero.strategy.plan(0);
  REQUIRE(plan.size() == 3);
  // 50 and 10 elements, 60 gathered
  CHECK(plan[0].size == Bytes{50 * 2});
  CHECK(plan[1].size == Bytes{10 * 2});
  CHECK(plan[2].size == Bytes{60 * 2});
}

TEST_CASE("DeepSpeed and Megatron's distributed optimizer add the norms of clipped gradients",
          "[deepspeed][megatron]") {
  JobView job = half_job();
  job.clips_gradients = true;
  Driver zero{{{.stage = 2}, job}};
  for (const TensorId tensor : {2, 1, 0}) zero.on(HookFired{.tensor = tensor});
  CHECK(zero.on(BackwardDone{}) == Words{"divide", "concatenate", "all-reduce bucket", "gate 5",
                                         "norm of gradients", "gate 7", "optimizer 0.25",
                                         "all-gather partitions", "gate 10"});
  const auto uses = [&](bool distributed) {
    return Megatron({.use_distributed_optimizer = distributed}, job).collectives();
  };
  CHECK(uses(true).back() == CollectiveUse{CollectiveKind::all_reduce});
  CHECK(uses(false).size() == 1);
}

TEST_CASE("DeepSpeed before use_multi_rank_bucket_allreduce reduces shares to their ranks",
          "[deepspeed]") {
  Driver zero{{{.stage = 2, .reduce_bucket_size = 50, .use_multi_rank_bucket_allreduce = false},
               half_job()}};
  zero.on(HookFired{.tensor = 2});
  zero.on(HookFired{.tensor = 1});
  CHECK(zero.on(HookFired{.tensor = 0}) ==
        Words{"divide", "reduce-scatter bucket", "gate 3", "copy into bucket"});
  // 50 and 10 elements padded to 4 ranks
  CHECK(zero.strategy.plan(0)[0].size == Bytes{52 * 2});
  CHECK(zero.strategy.plan(0)[1].size == Bytes{12 * 2});
  CHECK(zero.strategy.collectives().front().kind == CollectiveKind::reduce_scatter);
}

TEST_CASE("DeepSpeed without reduce_scatter all-reduces the buffer as it lies", "[deepspeed]") {
  Driver zero{{{.stage = 2, .reduce_scatter = false}, half_job()}};
  zero.on(HookFired{.tensor = 2});
  CHECK(zero.on(BackwardDone{})[1] == "all-reduce bucket");
}

TEST_CASE("DeepSpeed's overlap_comm has two buffers, and waits for the first when both are full",
          "[deepspeed]") {
  Driver zero{{{.stage = 1, .reduce_bucket_size = 30, .overlap_comm = true}, half_job()}};
  zero.on(HookFired{.tensor = 2});
  CHECK(zero.on(HookFired{.tensor = 1}) ==
        Words{"divide", "concatenate", "all-reduce bucket", "copy into bucket"});
  CHECK(zero.on(HookFired{.tensor = 0}) == Words{"copy into bucket"});
  // average_tensor: the compute stream waits for what was reduced before
  const Words end = zero.on(BackwardDone{});
  CHECK(end[0] == "gate 3");
  CHECK(end[3] == "all-reduce bucket");
  CHECK(end[4] == "gate 9");
  CHECK(zero.strategy.holding().buffers == Bytes{2 * 30 * 2});
}

TEST_CASE(
    "DeepSpeed's stage 1 has no hooks without overlap_comm, stage 2 reduces every micro-batch",
    "[deepspeed]") {
  Driver one{{{.stage = 1}, half_job(2)}};
  CHECK(one.on(HookFired{.tensor = 2, .micro_batch = 1}).empty());
  CHECK(one.on(BackwardDone{.micro_batch = 0}).empty());
  CHECK(one.on(BackwardDone{.micro_batch = 1}).front() == "copy into bucket");
  Driver two{{{.stage = 2}, half_job(2)}};
  CHECK(two.on(HookFired{.tensor = 2, .micro_batch = 0}) == Words{"copy into bucket"});
  CHECK(two.on(BackwardDone{.micro_batch = 0}) ==
        Words{"divide", "concatenate", "all-reduce bucket", "gate 3"});
}

TEST_CASE(
    "DeepSpeed's Python takes the launcher for what is reduced, and for a partition's tensors",
    "[deepspeed]") {
  JobView job = half_job();
  job.python_time = 0.5;
  const auto python = [&](DeepSpeedZero& zero, const Event& event) {
    double time = 0;
    for (const Operation& operation : zero.on_event(Seconds{}, event)) {
      const auto* work = std::get_if<HostWork>(&operation);
      if (work != nullptr && work->thread == HostWork::launcher) time += work->time.count();
    }
    return time;
  };
  // half of 2 ms a tensor, as the host is twice as fast
  DeepSpeedZero zero({.stage = 2, .hook_time = Seconds{2e-3}}, job);
  CHECK(python(zero, HookFired{.tensor = 2}) == Approx(1e-3));
  CHECK(python(zero, HookFired{.tensor = 1}) == Approx(1e-3));
  // Partitions of 15 elements: the first has all of 10 and some of 20, each other some of one.
  CHECK(python(zero, BackwardDone{}) == Approx(2e-3));
  // one rank has all, and ZeRO-1 without hooks reduces them behind backward
  job.world_size = 1;
  DeepSpeedZero alone({.stage = 1, .hook_time = Seconds{2e-3}}, job);
  CHECK(python(alone, HookFired{.tensor = 2}) == 0);
  CHECK(python(alone, BackwardDone{}) == Approx(3e-3 + 3e-3));
  job.python_time = 0;  // no PyTorch
  DeepSpeedZero elsewhere({.stage = 2, .hook_time = Seconds{2e-3}}, job);
  CHECK(python(elsewhere, HookFired{.tensor = 2}) == 0);
}

TEST_CASE("DeepSpeed gathers updated parameters by allgather_bucket_size", "[deepspeed]") {
  // 60 elements, 24 at a time: 24, 24, 12
  const DeepSpeedZero zero({.stage = 1, .allgather_bucket_size = 24}, half_job());
  const auto plan = zero.plan(0);
  REQUIRE(plan.size() == 4);
  CHECK(plan[1].size == Bytes{24 * 2});
  CHECK(plan[3].size == Bytes{12 * 2});
}

TEST_CASE("DeepSpeed's ranks keep shares by stage, and a model of two bytes as such",
          "[deepspeed]") {
  const Holding one = DeepSpeedZero({.stage = 1}, half_job()).holding();
  CHECK(one.weights == 1);
  CHECK(one.gradients == 1);
  CHECK(one.optimizer == 0.25);
  CHECK(one.mixed == MixedWeights::half);
  const Holding two = DeepSpeedZero({.stage = 2}, toy_job({10})).holding();
  CHECK(two.gradients == 0.25);
  CHECK(two.mixed == MixedWeights::fp32);
}

TEST_CASE("DeepSpeed's step of a model in two bytes copies its gradients' share to fp32",
          "[deepspeed]") {
  // stage_1_and_2.py, step(): the partition's gradients in the type of single_partition_of_fp32
  const Holding half = DeepSpeedZero({.stage = 2}, half_job()).holding();
  CHECK(half.step == Bytes{60 / 4 * 4});
  CHECK(half.fused_step);
  CHECK(DeepSpeedZero({.stage = 2}, toy_job({10})).holding().step == Bytes{0});
}
