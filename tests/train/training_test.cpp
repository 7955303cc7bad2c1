#include "sim/train/training.hpp"

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "sim/train/jitter.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/dear.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/none.hpp"
#include "tests/catch.hpp"
#include "tests/train/three_layers.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("without communication an iteration is the profile's", "[training]") {
  const auto result = Fixture(1, 0, none()).run();
  REQUIRE(result.iteration_s.size() == 4);
  for (const double t : result.iteration_s) CHECK(t == Approx(21e-3).epsilon(1e-12));
  CHECK(part(result, Part::forward) == Approx(6e-3));
  CHECK(part(result, Part::backward) == Approx(12e-3));
  CHECK(part(result, Part::optimizer) == Approx(1e-3));
  CHECK(part(result, Part::host) == Approx(2e-3));
  CHECK(result.collectives == 0);
  CHECK(result.fidelity_why == "every rank is by itself, and sends no message");
}

TEST_CASE("BSP exposes its whole all-reduce", "[training]") {
  // 21 ms + 3 copies + 5 ms
  const auto result = Fixture(2, 5e-3, make_bsp).run();
  for (const double t : result.iteration_s) CHECK(t == Approx(26e-3 + 3 * one_copy));
  CHECK(part(result, Part::exposed_communication) == Approx(5e-3));
  CHECK(part(result, Part::copies) == Approx(3 * one_copy));
  CHECK(result.overlap_fraction == Approx(0).margin(1e-9));
  // 2 (n-1)/n of 3 * 1024 bytes
  CHECK(result.bytes_per_rank == 3 * 1024);
}

TEST_CASE("Ranks on another GPU take its times a layer and direction", "[train][classes]") {
  // Class 1 runs forward twice as long and backward of l3 in 3 instead of 6 ms: 2 + 12 + 9 + 1 =
  // 24 ms in all, against 2 + 6 + 12 + 1 = 21 ms of class 0.
  Fixture job(2, 5e-3, make_bsp);
  WorkerClasses classes;
  classes.others.push_back({job.profile, job.gpu});
  ComputeProfile& other = classes.others.front().profile;
  for (auto& layer : other.layers) layer.forward = 2.0 * layer.forward;
  other.layers[2].backward = Seconds{3e-3};
  other.iteration = Seconds{24e-3};
  classes.of_rank = {0, 1};
  job.classes = &classes;
  const RunResult result = job.run();
  // BSP copies three tensors, then reduces for 5 ms once rank 1 is there; the optimizer follows.
  CHECK(result.iteration_s.front() == Approx(24e-3 + 3 * one_copy + 5e-3));
  // The mean rate of the two GPUs alone: (1/21 + 1/24) / 2 per ms.
  CHECK(result.single_gpu_iteration_s == Approx(2e-3 / (1.0 / 21 + 1.0 / 24)));

  classes.of_rank = {0, 0};
  CHECK(job.run().iteration_s.front() == Approx(21e-3 + 3 * one_copy + 5e-3));
  classes.of_rank = {1, 1};
  CHECK(job.run().iteration_s.front() == Approx(24e-3 + 3 * one_copy + 5e-3));
}

TEST_CASE("Strategies are given the library's time of an all-reduce, and no link's less",
          "[training]") {
  // Two ranks send half of it twice over 20 GB/s.
  const Fixture fixture(2, 3e-3, make_wfbp);
  const auto library = fixture.library();
  const Job job = fixture.job(library);
  const JobView view = job_view(job);
  CHECK(view.all_reduce_time(Bytes{1'000'000}).count() == Approx(3e-3));
  CHECK(view.all_reduce_time(Bytes{1'000'000'000}).count() == Approx(50e-3));
}

TEST_CASE("Classes stay apart where speeds are equal, and stragglers join only their own",
          "[train][classes]") {
  const std::vector<int> class_of_rank = {0, 1, 0, 1};
  const auto members = make_members(Placement(4), {}, {{.ranks = {3}, .fraction = 0, .compute = 2}},
                                    toy_profile(), 1, {.worker_class = class_of_rank});
  REQUIRE(members.size() == 3);
  CHECK(members[0].count == 2);
  CHECK(members[1].rank == 1);
  CHECK(members[1].worker_class == 1);
  CHECK(members[1].speed == 1);
  CHECK(members[2].rank == 3);
  CHECK(members[2].speed == 2);
}

TEST_CASE("WFBP hides what fits behind backward", "[training]") {
  // Gradients are ready 6, 10 and 12 ms into backward; each all-reduce takes 3 ms, in order: ends
  // at 9, 13, 16: 4 ms are exposed.
  const auto result = Fixture(2, 3e-3, make_wfbp).run();
  for (const double t : result.iteration_s) CHECK(t == Approx(25e-3));
  CHECK(part(result, Part::exposed_communication) == Approx(4e-3));
  CHECK(result.collectives == 3);
  CHECK(result.communication_busy_s == Approx(9e-3));
  CHECK(result.overlap_fraction == Approx(1 - 4.0 / 9));
}

TEST_CASE("compute is slowed by its kind's factor while communication runs", "[training]") {
  Fixture f(2, 1e-3, make_wfbp);
  f.profile.overlap = {{"conv3", 1.25}};
  // Three all-reduces of 1 ms; the first two run beside backward: each second of them costs
  // 1 - 1/1.25 = 0.2 s of progress. The last is exposed.
  const auto result = f.run();
  for (const double t : result.iteration_s) CHECK(t == Approx(21e-3 + 2 * 0.2e-3 + 1e-3));
  CHECK(part(result, Part::overlap_slowdown) == Approx(0.4e-3));
}

TEST_CASE("DDP on one rank costs its copies only", "[training]") {
  const DdpOptions options{.version = {1, 4}, .broadcast_buffers = false};
  const auto result = Fixture(1, 1, ddp(options)).run();
  // Copy and copy back of each of the three tensors, one division of the bucket.
  const double divide = 10e-6 + 3 * 2048 / 900e9;
  for (const double t : result.iteration_s) CHECK(t == Approx(21e-3 + 6 * one_copy + divide));
  CHECK(part(result, Part::exposed_communication) == 0);
}

TEST_CASE("a straggler holds everybody", "[training]") {
  Fixture f(4, 1e-3, make_bsp);
  f.stragglers = {{.ranks = {2}, .fraction = 0, .compute = 1.5}};
  const auto result = f.run();
  // Device time of the slow rank: 1.5 * (19 ms + 3 copies), 2 ms of host time, 1 ms of all-reduce.
  for (const double t : result.iteration_s) {
    CHECK(t == Approx(1.5 * (19e-3 + 3 * one_copy) + 2e-3 + 1e-3));
  }
  CHECK(part(result, Part::straggler_wait) == Approx(0).margin(1e-12));  // it never waits itself
  // The others do, for as long as it computes longer.
  REQUIRE(result.breakdown_median);
  CHECK(result.breakdown_median->at(static_cast<std::size_t>(Part::straggler_wait)) ==
        Approx(0.5 * (19e-3 + 3 * one_copy)));
}

TEST_CASE("a result names the solver that ran", "[training]") {
  const auto alone = Fixture(1, 1, make_bsp).run();
  CHECK(alone.engine_solver == "none");
  CHECK(alone.engine_simgrid.empty());
  // One all-reduce at a time: it is planned.
  const auto in_turn = Fixture(4, 1e-3, make_bsp).run();
  CHECK(in_turn.engine_solver == "gradwire");
  CHECK(in_turn.engine_simgrid.empty());
  const StrategyFactory dear = [](const JobView& job) {
    return std::make_unique<Dear>(DearOptions{}, job);
  };
  const auto shared = Fixture(4, 1e-3, dear).run();
  CHECK(shared.engine_solver == "simgrid");
  CHECK_THAT(shared.engine_simgrid, Catch::ContainsSubstring("SimGrid"));
}

TEST_CASE("the breakdown adds up to the mean iteration, jitter or not", "[training]") {
  Fixture f(4, 2e-3, make_wfbp);
  f.profile.overlap = {{"conv3", 1.1}};
  f.jitter = {.rank = 0.02, .iteration = 0.05, .layer = 0.1};
  const auto result = f.run();
  const double mean =
      std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0) / 4;
  CHECK(std::abs(sum(result.breakdown) - mean) < 1e-9 * mean);
  CHECK(std::abs(part(result, Part::other)) < 1e-9);
  CHECK(result.samples.size() == 4 * 4);
}

TEST_CASE("a seed decides the luck, and only the seed", "[training]") {
  Fixture f(4, 2e-3, make_wfbp);
  f.jitter = {.rank = 0, .iteration = 0.05, .layer = 0.1};
  const auto first = f.run();
  const auto second = f.run();
  REQUIRE(first.samples.size() == second.samples.size());
  for (std::size_t i = 0; i < first.samples.size(); ++i) {
    // The clock of a second SimGrid engine in one process starts elsewhere: last bits differ.
    // Bit-for-bit equality of two processes is tested on the program itself.
    CHECK(first.samples[i] == Approx(second.samples[i]).epsilon(1e-12));
  }
  f.seed = 2;
  CHECK(f.run().samples[0] != Approx(first.samples[0]).epsilon(1e-6));
}

TEST_CASE("accumulation communicates once an optimizer step", "[training]") {
  Fixture f(2, 5e-3, make_bsp);
  f.micro_batches = 3;
  const auto result = f.run();
  CHECK(result.collectives == 1);
  for (const double t : result.iteration_s) {
    CHECK(t == Approx(3 * 18e-3 + 3e-3 + 3 * one_copy + 5e-3));
  }
}

TEST_CASE("the trace shows compute, copies and communication of the first measured iteration",
          "[training]") {
  const auto result = Fixture(2, 3e-3, make_bsp).run(true);
  double compute = 0;
  double communication = 0;
  double copies = 0;
  for (const auto& span : result.spans) {
    if (span.resource == "compute" && span.name != "wait") compute += span.duration;
    if (span.resource == "communication") communication += span.duration;
    if (span.resource == "copy") copies += span.duration;
  }
  CHECK(compute == Approx(21e-3));  // with the gap between iterations
  CHECK(communication == Approx(3e-3));
  CHECK(copies == Approx(3 * one_copy));
}

TEST_CASE("whole iterations of the fluid engine are within 0.5 % of the step engine's",
          "[training][fidelity]") {
  const int ranks = GENERATE(2, 4, 8);
  const std::int64_t elements = GENERATE(25'000, 2'000'000);
  const auto strategy = GENERATE(as<std::string>{}, "bsp", "wfbp", "ddp");
  Fixture f(ranks, 0,
            strategy == "bsp"    ? make_bsp
            : strategy == "wfbp" ? make_wfbp
                                 : ddp({.broadcast_buffers = false}));
  f.cost = std::make_shared<StepCost>();
  f.profile.overlap = {{"conv3", 1.2}};
  for (auto& layer : f.profile.layers) layer.parameters[0].shape = {elements};
  f.engine.fidelity = Fidelity::step;
  const auto step = f.run();
  f.engine.fidelity = Fidelity::fluid;
  const auto fluid = f.run();
  CHECK(step.fidelity == "step");
  CHECK(fluid.fidelity == "fluid");
  CHECK(fluid.iteration_s[0] == Approx(step.iteration_s[0]).epsilon(0.005));
}

TEST_CASE("the interval holds the error of the model that made the profile", "[train][summary]") {
  Fixture fixture(1, 0, none());
  fixture.profile.source.kind = "analytic";
  fixture.profile.model_error = {.low = 0.15, .high = 0.4};
  fixture.gpu.errors.recorded = 0.01;
  // No jitter, no communication: the root of the squares of the model's error and a recording's.
  CHECK(fixture.run().spread_low == Approx(std::hypot(0.15, 0.01)));
  CHECK(fixture.run().spread_high == Approx(std::hypot(0.4, 0.01)));
}
