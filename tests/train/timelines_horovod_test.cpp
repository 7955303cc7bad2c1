#include <vector>

#include "strategies/bytescheduler.hpp"
#include "strategies/horovod.hpp"
#include "strategies/merged_horovod.hpp"
#include "strategies/mg_wfbp.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp under what stands on Horovod, in ms
// since an iteration's start, worked out by hand. T(n MB) = 0.5 + n of an all-reduce. Threads and
// messages between machines cost nothing but where a case says so: four machines of one rank.

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// No fusion, no cache, no cycle; Horovod of early 2020, whose thread waits for gradients.
HorovodOptions unfused() {
  HorovodOptions options;
  options.version = {0, 19};
  options.fusion_threshold = Bytes{0};
  options.cycle_time = Seconds{0};
  options.cache_capacity = 0;
  options.hook_time = Seconds{0};
  options.request_time = Seconds{0};
  options.local_latency = Seconds{0};
  return options;
}

HorovodOptimizerOptions fused(Release version, Seconds cycle) {
  HorovodOptimizerOptions options;
  options.core = unfused();
  options.core.version = version;
  options.core.fusion_threshold = Bytes{128LL * 1024 * 1024};
  options.core.cycle_time = cycle;
  options.core.cache_capacity = 1024;
  return options;
}

StrategyFactory merged(const MergeRule& rule) {
  return [rule](const JobView& job) {
    MgWfbpOptions options;
    options.core = unfused();
    options.rule = rule;
    return std::make_unique<MergedHorovod>(options.core, job, merged_groups(options, job));
  };
}

ToyTraining four_machines(double slower = 1) {
  ToyTraining toy(1, 4);
  toy.cost = std::make_shared<AlphaBeta>(slower);
  return toy;
}

}  // namespace

TEST_CASE("toy timeline: horovod, the launcher far ahead", "[timeline][horovod]") {
  // All hooks fire at 0; the cycle at 1 fuses all of them into one response, which waits for the
  // last gradient: T(6) from 18.
  check_each(four_machines().run(make<Horovod>(fused({0, 28}, Seconds{1e-3}))), 18 + 6.5 + 1);
}

TEST_CASE("toy timeline: horovod, the launcher beside the GPU", "[timeline][horovod]") {
  // Launching a layer takes 2: forward kernels start at 2, 4, .. 12, backward ones at 14, 16, ..
  // 24, where their hooks fire, and end 2 later. Cycles of 6.1: at 18.3 tensors 5, 4, 3 (hooks at
  // 14, 16, 18) are fused, there at 20: T(3) to 23.5. At 24.4 tensors 2, 1, 0 (20, 22, 24), there
  // at 26: T(3) to 29.5. The optimizer ends at 30.5, five cycles: the next iteration is the same.
  ToyTraining toy = four_machines();
  toy.profile.host_launch = Seconds{2e-3};
  const Release version = GENERATE(Release{0, 19}, Release{0, 28});
  check_each(toy.run(make<Horovod>(fused(version, Seconds{6.1e-3}))), 30.5);
}

TEST_CASE("toy timeline: horovod, each tensor by itself and no cache", "[timeline][horovod]") {
  // Rank 0 takes q for a request of one rank: a cycle of r requests negotiates 4 (1 + r) q, an
  // empty one 4 q, and empty ones follow each other. All hooks fire at 0.
  HorovodOptimizerOptions options;
  options.core = unfused();
  SECTION("0.19: the thread waits for each gradient before its response") {
    // q = 0.5: empty cycles of 2. Iteration 0: tensor 5 finds the thread idle and is negotiated to
    // 4; the thread waits for it to 8; the five others to 8 + 12 = 20, T(1) each to 27.5, 28.5 with
    // the optimizer. The thread was free at 20.
    // Iteration 1, at 28.5: the next cycle begins at 20 + 5 * 2 = 30, 1.5 in. All six negotiate 14,
    // to 15.5. 5, 4, 3 and 2 are there; 1 (16) and 0 (18) come while those move: six of 1.5 from
    // 15.5 to 24.5, 25.5 with the optimizer. The thread was free at 18.
    // 2, at 25.5: the next cycle begins at 18 + 4 * 2 = 26, 0.5 in: 1 less. 3, at 24.5: 26 is 1.5
    // in. They alternate.
    options.core.request_time = Seconds{0.5e-3};
    check(four_machines().run(make<Horovod>(options)), {25.5, 24.5, 25.5, 24.5});
  }
  SECTION("0.28: the stream waits, so that the thread negotiates on") {
    // q = 0.6: empty cycles of 2.4. Iteration 0: tensor 5 is negotiated to 4.8 and handed to the
    // stream, the others at once to 4.8 + 14.4 = 19.2; T(1) each to 26.7, 27.7 with the optimizer.
    // 1: the next cycle begins at 19.2 + 4 * 2.4 = 28.8, 1.1 in; all six negotiate 16.8, to 17.9,
    // when the thread is free, and move to 26.9: 27.9. 2: the next cycle at 17.9 + 5 * 2.4 = 29.9,
    // 2 in: 18.8, 27.8, 28.8. 3: at 18.8 + 5 * 2.4 = 30.8, 2 in. The same from there on.
    options.core.version = {0, 28};
    options.core.request_time = Seconds{0.6e-3};
    check(four_machines().run(make<Horovod>(options)), {27.9, 28.8, 28.8, 28.8});
  }
}

TEST_CASE("toy timeline: mg_wfbp", "[timeline][mg_wfbp]") {
  // alpha = 1.25, beta = 2.5 a MB, as fitted to the library. Since backward's start gradients come
  // at 2, 4, .. 12. {5}: 2 to 5.75; 4 comes at 4, 2 after its start: more than alpha. {4}: 5.75 to
  // 9.5; 3 comes at 6, 0.25 after: merged, {4, 3} from 6 to 12.25; 2 comes at 8, 2 after. {2}: from
  // 12.25, and 1 and 0 come before: {2, 1, 0} from 12.25 to 21. Backward starts at 6.
  check_each(four_machines(2.5).run(merged({.wait_for_alpha = true})), 6 + 21 + 1);
}

TEST_CASE("toy timeline: asc_wfbp", "[timeline][asc_wfbp]") {
  // As mg_wfbp without waiting: {4} goes alone, 5.75 to 9.5. 3 is there and 2 comes at 8, before it
  // starts: {3, 2} from 9.5 to 15.75; 1 and 0 come before that: {1, 0} to 22.
  check_each(four_machines(2.5).run(merged({.wait_for_alpha = false})), 6 + 22 + 1);
}

TEST_CASE("toy timeline: bytescheduler, all-reduce", "[timeline][bytescheduler]") {
  // Credit for one tensor, T(1) = 2.7. Gradients come at 2, 4, .. 12 of backward: 5 from 2 to 4.7,
  // 4 to 7.4, 3 to 10.1; then 2 (8) and 1 (10) are there, 1 goes first: 12.8; then 0 (12): 15.5;
  // last 2: 18.2. The next iteration starts at 12. Layer 0 at 15.5, its update and forward take
  // 7/6: layer 1 at 16.667, layer 2 at 17.833 has to wait to 18.2, and three more end at 22.867;
  // there backward starts again.
  ByteSchedulerOptions options;
  options.credit = 250'000;
  options.horovod = unfused();
  ToyTraining toy = four_machines(1.8);
  check_each(toy.run(make<ByteScheduler>(options)), 18.2 + 4 * 7.0 / 6);
  SECTION("with credit for all, what is in Horovod is not overtaken") {
    // 5, 4, 3, 2, 1, 0 from 2 on, 2.7 each: 0 ends at 18.2, all others before.
    options.credit = 4'000'000;
    check_each(toy.run(make<ByteScheduler>(options)), 18.2 + 6 * 7.0 / 6);
  }
}

TEST_CASE("toy timeline: bytescheduler, the poller's Python", "[timeline][bytescheduler]") {
  // Credit for all, T(1) = 1.5: every part ends before the next gradient, and 0 at 13.5 of
  // backward. Starting a part takes 0.1, the poller's update 0.2, both on its thread: flag at 13.8.
  ByteSchedulerOptions options;
  options.horovod = unfused();
  options.task_time = Seconds{0.1e-3};
  options.update_time = Seconds{0.2e-3};
  check_each(four_machines().run(make<ByteScheduler>(options)), 13.8 + 6 * 7.0 / 6);
}
