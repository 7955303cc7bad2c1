#include <algorithm>
#include <memory>

#include "sim/train/launcher.hpp"
#include "strategies/all_reduce/apex_ddp.hpp"
#include "strategies/all_reduce/autodist_all_reduce.hpp"
#include "strategies/all_reduce/average_gradients.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/dear.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/lb_sgd.hpp"
#include "strategies/all_reduce/local_sgd.hpp"
#include "strategies/all_reduce/none.hpp"
#include "strategies/sharded/deepspeed_zero.hpp"
#include "strategies/sharded/fsdp.hpp"
#include "strategies/sharded/megatron.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp, in ms since an iteration's start,
// worked out by hand. T(n MB) = 0.5 + n of an all-reduce, H(n MB) = 0.5 + n / 2 of its halves.

using namespace gradwire;
using namespace gradwire::test;

namespace {

StrategyFactory local_sgd(const LocalSgdOptions& options) {
  return [options](const JobView& job) {
    return std::make_unique<LocalSgd>(
        options, job, std::make_unique<Ddp>(DdpOptions{.broadcast_buffers = false}, job));
  };
}

}  // namespace

TEST_CASE("toy timeline: none", "[timeline]") {
  check_each(ToyTraining().run([](const JobView&) { return std::make_unique<NoCommunication>(); }),
             19);
}

TEST_CASE("toy timeline: bsp", "[timeline][bsp]") {
  // Backward ends at 18, T(6) = 6.5 follows, then the optimizer.
  check_each(ToyTraining().run(make_bsp), 18 + 6.5 + 1);
}

TEST_CASE("toy timeline: wfbp", "[timeline][wfbp]") {
  // Gradients at 8, 10, .. 18; T(1) = 1.5 < 2, so that only the last one is seen.
  check_each(ToyTraining().run(make_wfbp), 18 + 1.5 + 1);
}

TEST_CASE("toy timeline: average_gradients", "[timeline][average_gradients]") {
  // Behind backward six of T(1) = 1.5, one after the other, or T(6) of all; the host launches
  // ahead.
  AverageGradientsOptions options;
  check_each(ToyTraining().run(make<AverageGradients>(options)), 18 + 6 * 1.5 + 1);
  options.flatten = true;
  check_each(ToyTraining().run(make<AverageGradients>(options)), 18 + 6.5 + 1);
}

TEST_CASE("toy timeline: ddp", "[timeline][ddp]") {
  // Buckets of 2 MB are full at 10, 14 and 18; T(2) = 2.5 < 4.
  const Bytes cap{2'000'000};
  check_each(ToyTraining().run(make<Ddp>(DdpOptions{
                 .bucket_cap = cap, .first_bucket_cap = cap, .broadcast_buffers = false})),
             18 + 2.5 + 1);
}

TEST_CASE("toy timeline: GradScaler, the optimizer launched behind unscaled gradients",
          "[timeline][grad_scaler]") {
  ToyTraining toy;
  toy.profile.unscale = Seconds{0.5e-3};
  toy.profile.optimizer_launch = Seconds{3e-3};
  SECTION("wfbp") {
    // The optimizer's 1 beside the host's 3.
    check_each(toy.run(make_wfbp), 18 + 1.5 + 0.5 + 3);
  }
  SECTION("fsdp") {
    // The last reduce-scatter at 20, then a quarter of all, the kernels behind their launch.
    check_each(toy.run(make<Fsdp>(FsdpOptions{})), 20 + (0.5 + 3 + 1) / 4);
  }
}

TEST_CASE("toy timeline: ddp, ZeRO in its hooks", "[timeline][ddp][zero]") {
  // The same buckets; broadcasts of 2 MB take H(2) = 1.5, a bucket's step 1/3.
  const Bytes cap{2'000'000};
  DdpOptions options{.version = {1, 10},
                     .bucket_cap = cap,
                     .first_bucket_cap = cap,
                     .broadcast_buffers = false,
                     .optimizer = DdpOptimizer::zero_redundancy};
  SECTION("step()") {
    // Behind 20.5 two tensors on the fullest rank, 1/3, and six broadcasts of H(1) = 1.
    check_each(ToyTraining().run(make<Ddp>(options)), 18 + 2.5 + 1.0 / 3 + 6);
  }
  SECTION("hook_with_zero_step") {
    // Reduced at 12.5, 16.5 and 20.5. Ranks 0 and 1 step from 18 to 18.333, rank 2 from 20.5 to
    // 20.833; broadcasts from 20.5 on, one after the other.
    options.overlap_with_ddp = ZeroHook::last_bucket;
    check_each(ToyTraining().run(make<Ddp>(options)), 20.5 + 3 * 1.5);
    // Six parts of one tensor, H(1) = 1 each.
    options.shard_buckets = true;
    check_each(ToyTraining().run(make<Ddp>(options)), 20.5 + 6);
  }
  SECTION("hook_with_zero_step_interleaved") {
    // Reduced at 12.5; the step to 12.833 delays rank 0's backward by 1/3; broadcast at 14.333, as
    // the second bucket is there; reduced at 16.833, stepped by rank 1 at 17.167, broadcast at
    // 18.667, behind the third, there at 18.333; and so on to 21.167, 21.5 and 23.
    options.overlap_with_ddp = ZeroHook::interleaved;
    check_each(ToyTraining().run(make<Ddp>(options)), 23);
    // Two parts of 1/6 at once and two broadcasts of H(1) = 1: 12.667, 14.667; 17.167, 17.333,
    // 19.333; 21.833, 22, 24.
    options.shard_buckets = true;
    check_each(ToyTraining().run(make<Ddp>(options)), 24);
    // With hardly a network three ranks are late by their own 1/3, and the last one's step ends.
    options.shard_buckets = false;
    ToyTraining toy;
    toy.cost = std::make_shared<AlphaBeta>(0.001);
    check_each(toy.run(make<Ddp>(options)), 18 + 2.0 / 3 + 0.001 * (2.5 + 1.5));
  }
}

TEST_CASE("ZeRO's overlap is no faster than none but for what other ranks update",
          "[timeline][ddp][zero]") {
  // none: 19 with a step of 1. Of six equal tensors on 2, 4 or 8 ranks one updates at least a sixth
  // of them, and no less than its mean share.
  const int ranks = GENERATE(2, 4, 8);
  const bool shard = GENERATE(false, true);
  const auto hook = GENERATE(ZeroHook::last_bucket, ZeroHook::interleaved);
  const Bytes cap{GENERATE(1'000'000, 2'000'000, 3'000'000)};
  ToyTraining toy(ranks);
  toy.cost = std::make_shared<AlphaBeta>(GENERATE(0.001, 1.0, 4.0));
  const DdpOptions options{.version = {1, 10},
                           .bucket_cap = cap,
                           .first_bucket_cap = cap,
                           .broadcast_buffers = false,
                           .optimizer = DdpOptimizer::zero_redundancy,
                           .overlap_with_ddp = hook,
                           .shard_buckets = shard};
  const double least = 18 + std::max(1.0 / 6, 1.0 / ranks);
  // Interleaved, only the last bucket's step is behind backward, but all of them take the GPU.
  for (const double ms : toy.run(make<Ddp>(options))) CHECK(ms >= least * (1 - 1e-9));
}

TEST_CASE("toy timeline: apex_ddp", "[timeline][apex_ddp]") {
  // Buckets of 500 000 elements are full at 10, 14 and 18; T(2) = 2.5 < 4.
  ApexDdpOptions options{.message_size = 500'000};
  check_each(ToyTraining().run(make<ApexDdp>(options)), 18 + 2.5 + 1);
  options.delay_allreduce = true;  // all of it at the end, T(6)
  check_each(ToyTraining().run(make<ApexDdp>(options)), 18 + 6.5 + 1);
}

TEST_CASE("toy timeline: autodist_all_reduce", "[timeline][autodist]") {
  // Variables {4, 5}, {2, 3}, {0, 1} are a group each, there at 10, 14 and 18.
  AutodistOptions options{.chunk_size = 2};
  check_each(ToyTraining().run(make<AutodistAllReduce>(options)), 18 + 2.5 + 1);
  // TensorFlow's ring adds behind all of backward, group after group.
  options.spec = AllReduceSpec::ring;
  check_each(ToyTraining().run(make<AutodistAllReduce>(options)), 18 + 3 * 2.5 + 1);
}

TEST_CASE("toy timeline: dear", "[timeline][dear]") {
  // Groups {0, 1}, {2, 3}, {4, 5}; H(2) = 1.5, of 16 bytes of padding 8 ns.
  // Gathered at 1.5, 3.0 and 4.5. A layer's update takes 1/6. Forward of group 0 from 1.5 to
  // 1.5 + 2 (1 + 1/6) = 3.833, of group 1 to 6.167, of group 2 to 8.5. Backward to 20.5, with
  // groups ready at 12.5, 16.5 and 20.5. The iteration ends with the last reduce-scatter.
  const DearOptions options{.num_nearby_layers = 2};
  check_each(ToyTraining().run(make<Dear>(options)), 1.5 + 6 + 1 + 12 + 1.5);
  SECTION("a slow network") {
    // Three times slower, H(2) = 4.5: gathered at 4.5, 9 and 13.5, where group 2's forward begins;
    // backward has its gradients 2 (1 + 1/6) + 4 later, and three reduce-scatters follow each
    // other.
    ToyTraining toy;
    toy.cost = std::make_shared<AlphaBeta>(3);
    check_each(toy.run(make<Dear>(options)), 13.5 + 7.0 / 3 + 4 + 3 * 4.5);
  }
  SECTION("without all-gathers nothing waits and nothing is updated") {
    DearOptions scatter = options;
    scatter.exclude_allgather = true;
    check_each(ToyTraining().run(make<Dear>(scatter)), 6 + 12 + 1.5);
  }
  SECTION("without reduce-scatters only the first all-gather is seen") {
    DearOptions gather = options;
    gather.exclude_reducescatter = true;
    check_each(ToyTraining().run(make<Dear>(gather)), 1.5 + 6 + 1 + 12);
  }
}

TEST_CASE("toy timeline: lb_sgd", "[timeline][lb_sgd]") {
  // T(6) = 6.5 fits beside 19 ms of computation; ten times slower it does not, and follows itself:
  // posted at the end of backward, awaited there an iteration later.
  ToyTraining toy;
  check_each(toy.run(make<LbSgd>(LbSgdOptions{})), 19);
  toy.cost = std::make_shared<AlphaBeta>(10);
  check_each(toy.run(make<LbSgd>(LbSgdOptions{})), 65);
}

TEST_CASE("toy timeline: local_sgd", "[timeline][local_sgd]") {
  // The average T(6) = 6.5 follows every second optimizer step, from the first on; warm-up takes
  // iteration 0. Gradients inside the machine: a bucket of 2 MB (the tensor that crosses 1 MiB is
  // in it) at 10, one of 4 MB at 18; T(4) = 4.5.
  check(ToyTraining().run(local_sgd({.period = 2, .post_local_gradient_allreduce = false})),
        {19, 25.5, 19, 25.5});
  check(ToyTraining().run(local_sgd({.period = 2})), {23.5, 30, 23.5, 30});
}

TEST_CASE("toy timeline: fsdp", "[timeline][fsdp]") {
  // H(1) = 1 for a unit's parameters and for its gradients, one after the other on one stream.
  // Forward: layer u is gathered at u + 1 and runs to u + 2, the last one to 7.
  FsdpOptions options;
  SECTION("FULL_SHARD, BACKWARD_PRE") {
    // Units 5 and 4 are gathered again at 7 and 8. Backward 5 ends at 9; its reduce-scatter to 10
    // stands before the all-gather of 3 (11), which is there when backward 4 ends at 11. So it goes
    // on: backward 0 ends at 19, its reduce-scatter at 20; each rank updates a quarter.
    options.limit_all_gathers = GENERATE(true, false);
    check_each(ToyTraining().run(make<Fsdp>(options)), 20.25);
  }
  SECTION("FULL_SHARD without prefetch") {
    // Backward of unit 5 from 7 to 9, its reduce-scatter to 10, the all-gather of 4 to 11, backward
    // 4 to 13: 4 a unit. Backward 0 ends at 29.
    options.backward_prefetch = BackwardPrefetch::none;
    check_each(ToyTraining().run(make<Fsdp>(options)), 30.25);
  }
  SECTION("SHARD_GRAD_OP") {
    // Nothing is gathered in backward: 7 to 19, and the last reduce-scatter.
    options.sharding = Sharding::shard_grad_op;
    check_each(ToyTraining().run(make<Fsdp>(options)), 20.25);
  }
  SECTION("ZeRO-1") {
    // Forward to 6, backward to 18, the last reduce-scatter to 19, a quarter of the update, then
    // six all-gathers of 1.
    options.sharding = Sharding::optimizer;
    check_each(ToyTraining().run(make<Fsdp>(options)), 25.25);
  }
  SECTION("NO_SHARD") {
    // T(1) = 1.5 behind each backward, as wfbp.
    options.sharding = Sharding::none;
    check_each(ToyTraining().run(make<Fsdp>(options)), 20.5);
  }
}

TEST_CASE("toy timeline: fsdp accumulates", "[timeline][fsdp]") {
  // SHARD_GRAD_OP under no_sync: parameters stay through both passes. Forward to 7, backward to 19,
  // forward to 25, backward to 37, the last reduce-scatter to 38, a quarter of the update.
  ToyTraining toy;
  toy.micro_batches = 2;
  FsdpOptions options;
  options.sharding = Sharding::shard_grad_op;
  check_each(toy.run(make<Fsdp>(options)), 38.25);
}

TEST_CASE("toy timeline: fsdp reduces in every backward pass without no_sync", "[timeline][fsdp]") {
  // Each pass as the only one above: its last reduce-scatter ends 20 after its begin, and the next
  // waits for it. Host and device are at different passes then: both wait for their own.
  ToyTraining toy;
  toy.micro_batches = GENERATE(1, 2, 4);
  FsdpOptions options;
  options.no_sync = false;
  options.sharding = GENERATE(Sharding::shard_grad_op, Sharding::full_shard);
  check_each(toy.run(make<Fsdp>(options)), 20.0 * toy.micro_batches + 0.25);
}

TEST_CASE("toy timeline: hsdp", "[timeline][hsdp]") {
  // As FULL_SHARD up to the last reduce-scatter at 20; the shard of half a MB is all-reduced across
  // machines, T(0.5) = 1, and each rank updates a half.
  FsdpOptions options;
  options.hybrid = true;
  check_each(ToyTraining(2, 2).run(make<Fsdp>(options)), 21.5);
}

TEST_CASE("toy timeline: fsdp2", "[timeline][fsdp2]") {
  // As FULL_SHARD: the last reduce-scatter ends at 20, a quarter of the update follows; what is
  // copied in and out takes no time here.
  FsdpOptions options;
  options.per_parameter = true;
  check_each(ToyTraining().run(make<Fsdp>(options)), 20.25);
}

TEST_CASE("toy timeline: diloco", "[timeline][diloco]") {
  // Islands of 2 ranks: the last reduce-scatter at 20, half of the update; in every second
  // iteration halves of 6 MB are averaged, T(3) = 3.5.
  FsdpOptions options;
  options.hybrid = true;
  options.outer = {.sync_every = 2, .islands = 2};
  auto times = ToyTraining(2, 2).run(make<Fsdp>(options));
  std::ranges::sort(times);
  REQUIRE(times.size() == 4);
  CHECK(times[0] == Approx(20.5));
  CHECK(times[1] == Approx(20.5));
  CHECK(times[2] == Approx(24));
  CHECK(times[3] == Approx(24));
}

TEST_CASE("toy timeline: deepspeed", "[timeline][deepspeed]") {
  SECTION("stage 1") {
    // No hooks: all 6 MB behind backward at 18, T(6) = 6.5, a quarter of the update, H(6) = 3.5.
    check_each(ToyTraining().run(make<DeepSpeedZero>(DeepSpeedOptions{.stage = 1})),
               18 + 6.5 + 0.25 + 3.5);
    // Shares reduced to their ranks: H(6).
    const DeepSpeedOptions shares{.stage = 1, .use_multi_rank_bucket_allreduce = false};
    check_each(ToyTraining().run(make<DeepSpeedZero>(shares)), 18 + 3.5 + 0.25 + 3.5);
  }
  SECTION("stage 2") {
    // Buckets of 2 MB go when the next gradient comes, and compute waits T(2) = 2.5: at 12, 18.5
    // and the end of backward, 23.
    const DeepSpeedOptions options{.stage = 2, .reduce_bucket_size = 500'000};
    check_each(ToyTraining().run(make<DeepSpeedZero>(options)), 23 + 2.5 + 0.25 + 3.5);
  }
  SECTION("overlap_comm") {
    // The same buckets beside backward: at 12, 16 and, behind the second, 18.5; done at 21.
    const DeepSpeedOptions options{.stage = 2, .reduce_bucket_size = 500'000, .overlap_comm = true};
    check_each(ToyTraining().run(make<DeepSpeedZero>(options)), 21 + 0.25 + 3.5);
  }
}

TEST_CASE("toy timeline: megatron", "[timeline][megatron]") {
  SECTION("no overlap") {
    // All 6 MB behind backward at 18, H(6) = 3.5, a quarter of the update, H(6).
    check_each(ToyTraining().run(make<Megatron>(MegatronOptions{})), 18 + 3.5 + 0.25 + 3.5);
  }
  SECTION("both overlaps") {
    // Buckets of 2 MB go at 10, 14 and 18 and take H(2) = 1.5. The next forward waits for the
    // gather of the first two layers, 1.5, which the host launches first, and hides the others.
    const MegatronOptions options{
        .overlap_grad_reduce = true, .overlap_param_gather = true, .ddp_bucket_size = 500'000};
    check_each(ToyTraining().run(make<Megatron>(options)),
               18 + 1.5 + 0.25 + 1e3 * launch_call + 1.5);
  }
}
