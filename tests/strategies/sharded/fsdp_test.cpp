#include "strategies/sharded/fsdp.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// A unit a layer, no root.
FsdpOptions unit_a_layer() {
  FsdpOptions options;
  options.wrap = WrapPolicy::size_based;
  options.unit_size = Bytes{4};
  return options;
}

struct Driver {
  Fsdp strategy;
  Words on(const Event& event) { return describe(strategy.on_event(Seconds{}, event)); }
};

/// 4 ranks on 2 machines.
JobView two_machines(const std::vector<std::int64_t>& elements) {
  return toy_job_on({0, 0, 1, 1}, elements);
}

}  // namespace

TEST_CASE("FULL_SHARD gathers before forward and backward, and limits all-gathers", "[fsdp]") {
  Driver fsdp{{unit_a_layer(), toy_job({10, 20})}};
  CHECK(fsdp.on(IterationStart{}).empty());
  CHECK(fsdp.on(ForwardStart{.layer = 0}) == Words{"ready", "flag: unit 0 gathered", "gate 1"});
  // Unit 0 is freed behind its forward (3); unit 1 is gathered.
  CHECK(fsdp.on(ForwardStart{.layer = 1}) == Words{"freed", "flag: unit 1 gathered", "gate 4"});
  // 0: the last optimizer step has ended everywhere.
  CHECK(fsdp.on(OperationDone{0}) == Words{"all-gather unit 0", "all-gather unit 1"});  // 6, 7
  CHECK(fsdp.on(OperationDone{6}) == Words{"raise 1"});
  CHECK(fsdp.on(OperationDone{7}) == Words{"raise 4"});
  // Unit 1 is freed (10) and gathered again, unit 0 prefetched: two units were freed (3, 10), so
  // the all-gather waits for the first of these.
  CHECK(fsdp.on(BackwardStart{.layer = 1}) == Words{"freed", "flag: unit 1 gathered", "gate 11"});
  CHECK(fsdp.on(OperationDone{3}) == Words{"all-gather unit 1", "all-gather unit 0"});  // 13, 14
  CHECK(fsdp.on(HookFired{.tensor = 1}) ==
        Words{"concatenate gradients", "freed", "gradients ready"});  // 15 to 17
  CHECK(fsdp.on(BackwardStart{.layer = 0}) == Words{"gate 14"});
  // Divided by 2 before, as 2 * 2 >= 4 ranks, and by 2 after.
  CHECK(fsdp.on(OperationDone{17}) == Words{"~cast, pad and divide"});
  CHECK(fsdp.on(OperationDone{19}) == Words{"reduce-scatter unit 1"});
  CHECK(fsdp.on(OperationDone{20}) == Words{"~divide shard"});
  CHECK(fsdp.on(OperationDone{21}).empty());
  fsdp.on(HookFired{.tensor = 0});  // 22 to 24
  CHECK(fsdp.on(BackwardDone{}) == Words{"flag: gradients reduced", "gate 25", "optimizer 0.25"});
  fsdp.on(OperationDone{24});  // 28: the division
  fsdp.on(OperationDone{28});
  fsdp.on(OperationDone{29});
  CHECK(fsdp.on(OperationDone{30}) == Words{"raise 25"});
}

TEST_CASE("FSDP's hooks take the thread that launches a unit's and its tensors' time, both ways",
          "[fsdp]") {
  auto options = unit_a_layer();
  options.hook_time = Seconds{2e-3};
  options.tensor_hook_time = Seconds{1e-3};
  auto job = toy_job({10, 20});
  const auto hooks = [](Fsdp& fsdp, const Event& event) {
    std::vector<double> times;
    for (const Operation& operation : fsdp.on_event(Seconds{}, event)) {
      const auto* work = std::get_if<HostWork>(&operation);
      if (work == nullptr) continue;
      CHECK(work->thread == HostWork::launcher);
      times.push_back(work->time.count());
    }
    return times;
  };
  Fsdp elsewhere(options, job);  // no PyTorch, no Python
  CHECK(hooks(elsewhere, ForwardStart{.layer = 0}).empty());
  job.python_time = 0.5;
  Fsdp fsdp(options, job);
  // half of 2 + 1 ms, as the host is twice as fast
  CHECK(hooks(fsdp, ForwardStart{.layer = 0}) == std::vector{1.5e-3});
  CHECK(hooks(fsdp, ForwardStart{.layer = 1}) == std::vector{1.5e-3});
  CHECK(hooks(fsdp, BackwardStart{.layer = 1}) == std::vector{1.5e-3});
  CHECK(hooks(fsdp, HookFired{.tensor = 1}).empty());
  // Those of modules run for the forward that a checkpoint makes again, too: .5 * (2 + 1 + 1) ms.
  options.hooks_again = true;
  job.layers.resize(2);
  job.layers[1].made_again = true;
  Fsdp checkpointed(options, job);
  CHECK(hooks(checkpointed, ForwardStart{.layer = 0}) == std::vector{1.5e-3});
  CHECK(hooks(checkpointed, ForwardStart{.layer = 1}) == std::vector{1.5e-3});
  CHECK(hooks(checkpointed, BackwardStart{.layer = 1}) == std::vector{2e-3});
  options.sharding = Sharding::optimizer;  // ZeRO-1 wraps no module
  Fsdp one(options, job);
  CHECK(hooks(one, ForwardStart{.layer = 0}).empty());
}

TEST_CASE("FSDP's bytes: padded shards of parameters and gradients", "[fsdp]") {
  // 10 elements on 4 ranks: 3 each, 12 in all.
  auto options = unit_a_layer();
  options.param_bytes = 2;
  options.reduce_bytes = 4;
  const auto plan = Fsdp(options, toy_job({10})).plan(0);
  REQUIRE(plan.size() == 3);
  CHECK(plan[0].size == Bytes{12 * 2});
  CHECK(plan[1].size == Bytes{12 * 2});
  CHECK(plan[2].size == Bytes{12 * 4});
  CHECK(plan[2].note == "reduce-scatter");
}

TEST_CASE("without prefetch an all-gather waits for the reduce-scatter issued before it",
          "[fsdp]") {
  auto options = unit_a_layer();
  options.limit_all_gathers = false;
  options.backward_prefetch = GENERATE(BackwardPrefetch::none, BackwardPrefetch::backward_post);
  Driver fsdp{{options, toy_job({10, 20})}};
  fsdp.on(ForwardStart{.layer = 0});  // 0 marker, 1 flag, 2 gate
  fsdp.on(ForwardStart{.layer = 1});  // 3 flag, 4 gate
  fsdp.on(OperationDone{0});          // 5, 6: all-gathers
  CHECK(fsdp.on(BackwardStart{.layer = 1}) ==
        Words{"flag: unit 1 gathered", "gate 7", "all-gather unit 1"});  // 9
  const auto hook = fsdp.on(HookFired{.tensor = 1});
  if (options.backward_prefetch == BackwardPrefetch::backward_post) {
    // Prefetched behind unit 1's backward on the host, before its reduce-scatter.
    CHECK(hook == Words{"concatenate gradients", "gradients ready", "all-gather unit 0"});
  } else {
    CHECK(hook == Words{"concatenate gradients", "gradients ready"});  // 10, 11
    CHECK(fsdp.on(BackwardStart{.layer = 0}) == Words{"flag: unit 0 gathered", "gate 12"});
    CHECK(fsdp.on(OperationDone{11}) == Words{"~cast, pad and divide"});  // 14
    CHECK(fsdp.on(OperationDone{14}) == Words{"reduce-scatter unit 1", "all-gather unit 0"});
  }
}

TEST_CASE("SHARD_GRAD_OP keeps parameters from forward to backward", "[fsdp]") {
  auto options = unit_a_layer();
  options.sharding = Sharding::shard_grad_op;
  Driver fsdp{{options, toy_job({10, 20})}};
  fsdp.on(ForwardStart{.layer = 0});
  CHECK(fsdp.on(ForwardStart{.layer = 1}) == Words{"flag: unit 1 gathered", "gate 3"});
  fsdp.on(OperationDone{0});  // 5, 6
  fsdp.on(OperationDone{5});
  fsdp.on(OperationDone{6});
  CHECK(fsdp.on(BackwardStart{.layer = 1}).empty());
  CHECK(fsdp.on(HookFired{.tensor = 1}) ==
        Words{"concatenate gradients", "freed", "gradients ready"});
}

TEST_CASE("ZeRO-1 gathers the updated parameters after the step", "[fsdp]") {
  auto options = unit_a_layer();
  options.sharding = Sharding::optimizer;
  Driver fsdp{{options, toy_job({10})}};
  CHECK(fsdp.on(ForwardStart{.layer = 0}).empty());
  CHECK(fsdp.on(BackwardStart{.layer = 0}).empty());
  CHECK(fsdp.on(HookFired{.tensor = 0}) == Words{"concatenate gradients", "gradients ready"});
  CHECK(fsdp.on(BackwardDone{}) == Words{"flag: gradients reduced", "gate 2", "optimizer 0.25",
                                         "updated", "flag: parameters gathered", "gate 6"});
  // The gradients: division (8), reduce-scatter (9), division (10), raised (11).
  for (const OperationId id : {1, 8, 9, 10}) fsdp.on(OperationDone{id});
  CHECK(fsdp.on(OperationDone{5}) == Words{"all-gather unit 0"});
  CHECK(fsdp.on(OperationDone{12}) == Words{"raise 6"});
}

TEST_CASE("shards of clipped gradients are updated when their norms are added up", "[fsdp]") {
  JobView job = toy_job({10});
  job.clips_gradients = true;
  auto options = unit_a_layer();
  options.sharding = Sharding::optimizer;
  Driver fsdp{{options, job}};
  fsdp.on(ForwardStart{.layer = 0});
  fsdp.on(BackwardStart{.layer = 0});
  fsdp.on(HookFired{.tensor = 0});
  CHECK(fsdp.on(BackwardDone{}) == Words{"flag: gradients reduced", "gate 2", "norm of gradients",
                                         "gate 4", "optimizer 0.25", "updated",
                                         "flag: parameters gathered", "gate 8"});
  CHECK(fsdp.strategy.collectives().back() ==
        CollectiveUse{CollectiveKind::all_reduce, families::all});
  // what no rank shares out has the same norm on all
  options.sharding = Sharding::none;
  Driver whole{{options, job}};
  whole.on(ForwardStart{.layer = 0});
  whole.on(HookFired{.tensor = 0});
  CHECK(whole.on(BackwardDone{})[2] == "optimizer 1");
}

TEST_CASE("NO_SHARD all-reduces each unit and updates everything", "[fsdp]") {
  auto options = unit_a_layer();
  options.sharding = Sharding::none;
  Driver fsdp{{options, toy_job({10})}};
  CHECK(fsdp.on(ForwardStart{.layer = 0}).empty());
  fsdp.on(HookFired{.tensor = 0});
  CHECK(fsdp.on(BackwardDone{})[2] == "optimizer 1");
  fsdp.on(OperationDone{1});
  const auto reduced = fsdp.strategy.on_event(Seconds{}, OperationDone{5});
  REQUIRE(reduced.size() == 1);
  CHECK(std::get<Collective>(reduced[0]).size == Bytes{10 * 4});
  CHECK(std::get<Collective>(reduced[0]).kind == CollectiveKind::all_reduce);
}

TEST_CASE("under no_sync only the last backward pass reduces", "[fsdp]") {
  auto options = unit_a_layer();
  options.no_sync = GENERATE(true, false);
  Driver fsdp{{options, toy_job({10}, 2)}};
  fsdp.on(ForwardStart{.layer = 0});
  fsdp.on(BackwardStart{.layer = 0});
  const auto first = fsdp.on(HookFired{.tensor = 0, .micro_batch = 0});
  CHECK((first.back() == "gradients ready") == !options.no_sync);
  // FULL_SHARD frees its parameters in either case.
  CHECK(first[1] == "freed");
  const auto end = fsdp.on(BackwardDone{.micro_batch = 0});
  CHECK(end.size() == (options.no_sync ? 0 : 2));  // the flag and its gate, but no optimizer
  fsdp.on(ForwardStart{.layer = 0, .micro_batch = 1});
  fsdp.on(BackwardStart{.layer = 0, .micro_batch = 1});
  CHECK(fsdp.on(HookFired{.tensor = 0, .micro_batch = 1}).back() == "gradients ready");
}

TEST_CASE("HSDP shards inside machines and all-reduces the shard across them", "[fsdp][hsdp]") {
  auto options = unit_a_layer();
  options.hybrid = true;
  Driver fsdp{{options, two_machines({10})}};
  fsdp.on(ForwardStart{.layer = 0});
  fsdp.on(OperationDone{0});  // 3: all-gather
  fsdp.on(BackwardStart{.layer = 0});
  fsdp.on(HookFired{.tensor = 0});
  const auto end = fsdp.on(BackwardDone{});
  CHECK(end.back() == "optimizer 0.5");
  const auto plan = fsdp.strategy.plan(0);
  CHECK(plan.back().size == Bytes{10 / 2 * 4});
  CHECK(fsdp.strategy.collectives() ==
        std::vector<CollectiveUse>{{CollectiveKind::all_gather, families::node},
                                   {CollectiveKind::reduce_scatter, families::node},
                                   {CollectiveKind::all_reduce, families::across}});
}

TEST_CASE("HSDP needs machines of equally many ranks", "[fsdp][hsdp]") {
  auto options = unit_a_layer();
  options.hybrid = true;
  auto job = two_machines({10});
  job.world_size = 3;
  job.machine_of = {0, 0, 1};
  CHECK_THROWS_WITH(Fsdp(options, job),
                    "hsdp shards within machines, which needs equally many ranks on each; machine "
                    "0 has 2, machine 1 has 1");
}

TEST_CASE("FSDP on one rank does not shard", "[fsdp]") {
  auto job = toy_job({10});
  job.world_size = 1;
  Driver fsdp{{unit_a_layer(), job}};
  CHECK(fsdp.on(ForwardStart{.layer = 0}).empty());
  fsdp.on(HookFired{.tensor = 0});
  CHECK(fsdp.on(BackwardDone{}).back() == "optimizer 1");
}

TEST_CASE("Shards within groups that follow each other, of any size", "[fsdp][hsdp]") {
  auto options = unit_a_layer();
  options.hybrid = true;
  options.shard_degree = 4;
  auto job = toy_job({10});
  job.world_size = 8;
  const Fsdp fsdp(options, job);
  const auto families = fsdp.families();
  REQUIRE(families.size() == 2);
  CHECK(families[0].groups[1].ranks == std::vector<int>{4, 5, 6, 7});
  REQUIRE(families[1].groups.size() == 4);
  CHECK(families[1].groups[1].ranks == std::vector<int>{1, 5});
  const FamilyId replicas{static_cast<int>(families::own) + 1};
  CHECK(fsdp.collectives().back() == CollectiveUse{CollectiveKind::all_reduce, replicas});
  // 10 elements on 4 ranks are 3 each
  CHECK(fsdp.plan(0).back().size == Bytes{3 * 4});
  CHECK(fsdp.holding().weights == 0.25);
  options.shard_degree = 3;
  CHECK_THROWS_WITH(Fsdp(options, job),
                    "'data_parallel_shard_degree' is 3; expected a divisor of the 8 ranks");
}

TEST_CASE("FSDP2 pads each parameter's rows, copies in and out, and reduces without divisions",
          "[fsdp][fsdp2]") {
  auto options = unit_a_layer();
  options.per_parameter = true;
  options.param_bytes = 2;
  auto job = toy_job({15, 3});
  job.tensors[0].shape = {5, 3};
  job.tensors[1].layer = 0;
  job.tensors[1].shape = {3};
  Driver fsdp{{options, job}};
  // 5 rows of 3 on 4 ranks are 8 rows, 3 are 4: 28 elements
  CHECK(fsdp.strategy.plan(0)[0].size == Bytes{28 * 2});
  CHECK(fsdp.on(ForwardStart{.layer = 0}) ==
        Words{"ready", "flag: unit 0 gathered", "gate 1", "copy out parameters"});
  CHECK(fsdp.on(OperationDone{0}) == Words{"~copy in shards"});    // 4
  CHECK(fsdp.on(OperationDone{4}) == Words{"all-gather unit 0"});  // 5
  fsdp.on(OperationDone{5});                                       // raised: 6
  fsdp.on(BackwardStart{.layer = 0});  // freed and gathered again: 7 to 11
  fsdp.on(HookFired{.tensor = 1});
  const Words hook = fsdp.on(HookFired{.tensor = 0});
  CHECK(hook == Words{"freed", "gradients ready"});
}

TEST_CASE("FSDP2 tells of padding, and shards evenly where it is told to", "[fsdp][fsdp2]") {
  auto options = unit_a_layer();
  options.per_parameter = true;
  options.param_bytes = 2;
  auto job = toy_job({2 * 8 * 3, 8});
  job.tensors[0].shape = {2, 8, 3};  // two experts on 4 ranks
  job.tensors[1].layer = 0;
  job.tensors[1].shape = {8};
  const Fsdp uneven(options, job);
  CHECK(uneven.plan(0)[0].size == Bytes{(4 * 8 * 3 + 8) * 2});
  // 104 of 56 elements
  CHECK(
      uneven.warnings() ==
      std::vector<Warning>{{"uneven-shards",
                            "t0 has 2 rows for 4 ranks: fully_shard pads each share to 1, and "
                            "gathers 1.9 times the model's parameters; 'shard_placement_fn: even' "
                            "shards along another dimension"}});
  // The fullest rank has a whole expert and two rows of the rest.
  CHECK(uneven.holding().weights == Approx((24.0 + 2) / 56));
  options.even_shards = true;
  Driver even{{options, job}};
  CHECK(even.strategy.holding().weights == 0.25);
  CHECK(even.strategy.plan(0)[0].size == Bytes{(2 * 8 * 3 + 8) * 2});
  CHECK(even.strategy.warnings().empty());
  // All is copied out of what NCCL wrote, and the experts once more: read and written.
  const auto copied = even.strategy.on_event(Seconds{}, ForwardStart{.layer = 0}).back();
  CHECK(std::get<DeviceWork>(copied).traffic == Bytes{(56 + 48) * 2 * 2});
  CHECK(std::get<DeviceWork>(copied).kernels == 2);
}

TEST_CASE("FSDP2 of a model without parameters keeps no shard that is not a number",
          "[fsdp][fsdp2]") {
  auto options = unit_a_layer();
  options.per_parameter = true;
  CHECK(Fsdp(options, toy_job({})).holding().weights == 0.25);
}

TEST_CASE("where no dimension is divided by the ranks FSDP2 pads the first", "[fsdp][fsdp2]") {
  auto options = unit_a_layer();
  options.per_parameter = true;
  options.even_shards = true;
  auto job = toy_job({15});
  job.tensors[0].shape = {5, 3};
  CHECK(Fsdp(options, job).plan(0)[0].size == Bytes{8 * 3 * 4});
}

TEST_CASE("FSDP2 gathers for backward among the ranks of reshard_after_forward", "[fsdp][fsdp2]") {
  auto options = unit_a_layer();
  options.per_parameter = true;
  options.backward_degree = 2;
  const Fsdp fsdp(options, toy_job({16}));
  REQUIRE(fsdp.families().size() == 1);
  CHECK(fsdp.families()[0].groups[1].ranks == std::vector<int>{2, 3});
  const FamilyId own{static_cast<int>(families::own)};
  CHECK(fsdp.collectives().back() == CollectiveUse{CollectiveKind::all_gather, own});
  // gathered twice, once as NCCL wrote it, and half of it kept between
  CHECK(fsdp.holding().gathered == Bytes{(16 + 16 + 16 / 2) * 4});
  options.backward_degree = 3;
  CHECK_THROWS_WITH(Fsdp(options, toy_job({16})),
                    "'reshard_after_forward' is 3; expected a divisor of the 4 ranks that share a "
                    "parameter");
}

TEST_CASE("DiLoCo's islands shard by themselves and meet every few steps", "[fsdp][diloco]") {
  auto options = unit_a_layer();
  options.hybrid = true;
  options.outer = {.sync_every = 2, .islands = 2};
  Driver fsdp{{options, toy_job({10})}};
  CHECK(fsdp.strategy.traits().exactness == Exactness::stale);
  CHECK(fsdp.strategy.phasing().period == 2);
  const auto end_of = [&](int iteration) {
    fsdp.on(IterationStart{.iteration = iteration});
    fsdp.on(ForwardStart{.layer = 0});
    fsdp.on(BackwardStart{.layer = 0});
    fsdp.on(HookFired{.tensor = 0});
    return fsdp.strategy.on_event(Seconds{}, BackwardDone{});
  };
  CHECK(describe(end_of(0)).back() == "optimizer 0.5");
  const auto end = end_of(1);
  const Words words = describe(end);
  const auto from = static_cast<std::ptrdiff_t>(words.size()) - 5;
  REQUIRE(from >= 0);
  CHECK(words[static_cast<std::size_t>(from)] == "optimizer 0.5");
  CHECK(words[static_cast<std::size_t>(from) + 1] == "pseudo-gradients");
  CHECK(words.back() == "outer step");
  // a shard of 10 elements on 2 ranks, in fp32, with the other island's rank of the same place
  const auto& average = std::get<Collective>(end[static_cast<std::size_t>(from) + 2]);
  CHECK(average.size == Bytes{5 * 4});
  CHECK(average.communicator == FamilyId{static_cast<int>(families::own) + 1});
  // last outer parameters and momentum, beside the unit's gradients
  CHECK(fsdp.strategy.holding().buffers == Bytes{2 * 5 * 4 + 10 * 4});
}
