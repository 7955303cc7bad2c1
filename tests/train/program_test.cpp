#include "sim/train/program.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/report/metrics.hpp"
#include "sim/train/schedules.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/servers/ps_async.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr Bytes mega{1'000'000};

/// Of two of the toy's tensors each.
const DdpOptions buckets{.bucket_cap = Bytes{2'000'000},
                         .first_bucket_cap = Bytes{2'000'000},
                         .broadcast_buffers = false};

/// `layers` of the toy's layers: forward 1 ms, backward 2 ms, a tensor of 1 MB each; optimizer 1
/// ms.
ComputeProfile part_of(const ComputeProfile& toy, std::size_t layers) {
  ComputeProfile part = toy;
  part.layers.resize(layers);
  part.gradient_order = reverse_registration_order(static_cast<int>(layers));
  part.iteration = part.forward() + part.backward() + part.optimizer;
  return part;
}

/// A pipeline of two stages of four layers: forward 4 ms, backward 8 ms of a micro-batch each.
/// @param replicas  of each stage; ranks in Megatron's order, the stage changes last.
std::vector<RankClass> two_stages(const ToyTraining& toy, int replicas, int micro_batches,
                                  std::string_view schedule = "1f1b") {
  std::vector<RankClass> classes;
  for (int stage = 0; stage < 2; ++stage) {
    const auto profile = part_of(toy.profile, 4);
    ProcessGroup group{"dp", {}};
    for (int i = 0; i < replicas; ++i) group.ranks.push_back(stage * replicas + i);
    classes.push_back(
        {.name = "stage " + std::to_string(stage),
         .data_parallel = {std::move(group)},
         .profile = profile,
         .program = schedule_named(schedule).program({profile, stage, 2, micro_batches, mega})});
  }
  return classes;
}

RunResult run(const ToyTraining& toy, const StrategyFactory& strategy,
              std::vector<RankClass> classes, std::vector<GroupFamily> families = {}) {
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.families = std::move(families);
  job.rank_classes = std::move(classes);
  return simulate(job);
}

std::vector<double> ms_of(const RunResult& result) {
  std::vector<double> times;
  for (const double t : result.iteration_s) times.push_back(1e3 * t);
  return times;
}

std::string refusal(const ToyTraining& toy, std::vector<RankClass> classes) {
  try {
    run(toy, make<Ddp>(buckets), std::move(classes));
  } catch (const SimulationError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

// A message of 1 MB takes 0.5 + 0.5 = 1 ms and starts when both ends are there. In ms:
//   stage 0  F0 0-4  F1 4-8  B0 18-26  F2 26-30  B1 31-39  F3 39-43  B2 44-52  B3 57-65
//   stage 1  F0 5-9  B0 9-17  F1 18-22  B1 22-30  F2 31-35  B2 35-43  F3 44-48  B3 48-56
// Stage 0's optimizer ends at 66, and there the next iteration begins. Without messages that is
// (4 + 2 - 1) (4 + 8) + 1 = 61 (Narayanan et al., section 2.2: the bubble is p - 1 micro-batches).
TEST_CASE("Two stages under 1F1B take the time of their passes, bubble and messages",
          "[training][program]") {
  const ToyTraining toy(2);
  const RunResult result = run(toy, make<Ddp>(buckets), two_stages(toy, 1, 4));
  check_each(ms_of(result), 66);
  // Four micro-batches of 8 samples; each rank computes 4 * 12 + 1 = 49 ms.
  const Metrics metrics = metrics_of(result);
  CHECK(metrics.global_batch == 32);
  CHECK(metrics.scaling_efficiency == Approx(49.0 / 66).epsilon(timeline_tolerance));
}

// The forward passes of stage 1 begin at 5, 10, 15 and 20, its backward ones at 24, 32, 40 and 48.
// Those of stage 0 begin a message behind them, then one behind each other: 33, 42, 51, 60 to 68.
TEST_CASE("Two stages under GPipe do all forward passes first", "[training][program]") {
  const ToyTraining toy(2);
  check_each(ms_of(run(toy, make<Ddp>(buckets), two_stages(toy, 1, 4, "gpipe"))), 69);
}

// Each stage has its own all-reduces: two of 2 MB, 0.5 + 2 = 2.5 ms each. Stage 1's last backward
// (48 to 56) has them at 52 and 56; DDP waits for the second where backward ends (reducer.cpp,
// finalize_backward), so that the message behind it leaves at 58.5. Stage 0's last backward is at
// 59.5 to 67.5, its second all-reduce ends at 70, its optimizer at 71.
TEST_CASE("Replicas of a stage all-reduce its gradients alone", "[training][program]") {
  const ToyTraining toy(4);
  const RunResult result = run(toy, make<Ddp>(buckets), two_stages(toy, 2, 4));
  check_each(ms_of(result), 71);
  CHECK(metrics_of(result).global_batch == 64);
}

// Two layers whose halves two ranks hold. An all-reduce of 1 MB (1.5 ms) behind each layer's
// forward and backward: 2 (1 + 1.5) + 2 (2 + 1.5) + 1 = 13 ms; where compute does not wait for
// backward's, 2 (1 + 1.5) + 2 * 2 + 1 = 10 ms.
TEST_CASE("A pair of tensor-parallel ranks all-reduces inside forward and backward",
          "[training][program]") {
  const ToyTraining toy(2);
  const ParallelLayout layout({.tensor = 2});
  const auto program = [](bool blocking) {
    Program steps;
    for (int l = 0; l < 2; ++l) {
      steps.emplace_back(ComputePass{Part::forward, 0, l, l + 1});
      steps.emplace_back(GroupCollective{.size = mega});
    }
    for (int l = 2; l-- > 0;) {
      steps.emplace_back(ComputePass{Part::backward, 0, l, l + 1});
      steps.emplace_back(GroupCollective{.size = mega, .blocking = blocking});
    }
    return steps;
  };
  for (const auto& [blocking, expected] : {std::pair{true, 13.0}, {false, 10.0}}) {
    const RankClass both{.name = "model",
                         .data_parallel = {{"dp 0", {0}}, {"dp 1", {1}}},
                         .profile = part_of(toy.profile, 2),
                         .program = program(blocking)};
    const RunResult result =
        run(toy, make<Ddp>(buckets), {both}, {layout.family(std::array{ParallelAxis::tensor})});
    check_each(ms_of(result), expected);
    CHECK(result.model_ranks == 2);
  }
}

TEST_CASE("One class that has every rank is a data-parallel job", "[training][program]") {
  const ToyTraining toy(4);
  const auto strategy = make<Ddp>(buckets);
  ProcessGroup all{"dp", {0, 1, 2, 3}};
  const RankClass replicas{.name = "all",
                           .data_parallel = {all},
                           .profile = toy.profile,
                           .program = data_parallel_program(toy.profile, 1)};
  const RunResult result = run(toy, strategy, {replicas});
  check(ms_of(result), toy.run(strategy));
  const auto library = toy.library();
  const RunResult plain = simulate(toy.job(strategy, library));
  CHECK(result.bytes_per_rank == plain.bytes_per_rank);
  CHECK(result.collectives == plain.collectives);
}

// Megatron's schedule keeps at most as many micro-batches as there are stages from this one on.
TEST_CASE("A stage keeps as many micro-batches as there are stages behind it, and one",
          "[training][program]") {
  const ToyTraining toy;
  for (int stage = 0; stage < 4; ++stage) {
    const PipelineStage own{toy.profile, stage, 4, 8, mega};
    const Program program = schedule_named("1f1b").program(own);
    CHECK(micro_batches_of(program) == 8);
    CHECK(micro_batches_kept(program) == 4 - stage);
    CHECK(micro_batches_kept(schedule_named("gpipe").program(own)) == 8);
  }
  CHECK(micro_batches_kept(schedule_named("1f1b").program({toy.profile, 0, 4, 2, mega})) == 2);
}

TEST_CASE("Programs that do not fit together are refused by name", "[training][program]") {
  const ToyTraining toy(2);
  auto classes = two_stages(toy, 1, 2);
  classes[1].program.emplace_back(Receive{0});
  CHECK(refusal(toy, classes) == "stage 0 sends 1 messages fewer than stage 1 receives");
  classes = two_stages(toy, 1, 2);
  classes[1].data_parallel = {{"dp", {0}}};
  CHECK(refusal(toy, classes) == "rank 0 is in 2 classes; expected 1");
  classes = two_stages(toy, 1, 2);
  classes[0].program.emplace_back(Send{2, mega});
  CHECK(refusal(toy, classes) ==
        "stage 0 exchanges messages with class 2; expected another one of the 2 there are");
  classes = two_stages(toy, 1, 2);
  classes[0].program.emplace_back(ComputePass{Part::forward, 0, 3, 5});
  CHECK(refusal(toy, classes) == "stage 0 computes layers 3 to 5 of 4");
  classes = two_stages(toy, 1, 2);
  classes[1].program.emplace_back(ComputePass{Part::forward, 2, 0, 4});
  CHECK(refusal(toy, classes) == "stage 1 has 3 micro-batches; expected the 2 of stage 0");
  classes = two_stages(toy, 1, 2);
  classes[1].program.emplace_back(ComputePass{Part::backward, 0, 0, 4});
  CHECK(refusal(toy, classes) ==
        "stage 1 computes backward of micro-batch 0 behind 1's; expected a rising order, for "
        "gradients are exchanged in the last number's");
  ToyTraining served(2);
  served.servers = {0};
  CHECK_THROWS_WITH(run(served, make<PsAsync>(PsAsyncOptions{}), two_stages(served, 1, 2)),
                    Catch::Contains("expected a strategy of synchronous ones"));
}
