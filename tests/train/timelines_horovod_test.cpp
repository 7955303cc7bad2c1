#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/core/statistics.hpp"
#include "sim/report/chrome_trace.hpp"
#include "strategies/all_reduce/mg_wfbp.hpp"
#include "strategies/horovod/horovod.hpp"
#include "strategies/horovod/horovod_queue.hpp"
#include "strategies/horovod/merged_horovod.hpp"
#include "strategies/servers/bytescheduler.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp under what stands on Horovod, in ms
// since an iteration's start, worked out by hand. T(n MB) = 0.5 + n of an all-reduce. Threads and
// messages between machines cost nothing but where a case says so: four machines of one rank. The
// thread's first sleep in measured iterations 1 to 4 leaves 7, 1, 5 and 3 eighths of a cycle.

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

TEST_CASE("toy timeline: horovod, PyTorch's thread waits in step()", "[timeline][horovod]") {
  // As before, but the optimizer's launch of 3 begins when gradients are there; before 0.20 half a
  // sleep of 1 later.
  ToyTraining toy = four_machines();
  toy.profile.executor = false;
  toy.profile.optimizer_launch = Seconds{3e-3};
  check_each(toy.run(make<Horovod>(fused({0, 28}, Seconds{1e-3}))), 18 + 6.5 + 3);
  check_each(toy.run(make<Horovod>(fused({0, 19}, Seconds{1e-3}))), 18 + 6.5 + 0.5 + 3);
}

TEST_CASE("toy timeline: horovod, the launcher beside the GPU", "[timeline][horovod]") {
  // Launching a layer takes 2: forward kernels start at 2, 4, .. 12, backward ones at 14, 16, ..
  // 24, where their hooks fire, and end 2 later. Cycles of 6.1, the optimizer 1. The first begins:
  // 7/8: at 19.34 with tensors 5, 4, 3 (hooks at 14, 16, 18), there at 20, T(3) to 23.5; at 25.44
  //      2, 1, 0 (20, 22, 24), there at 26, T(3) to 29.5.
  // 1/8: at 14.76 with 5, to 17.5; at 20.86 4, 3, 2 (16, 18, 20), there at 22, to 25.5; at 26.9625
  //      1 and 0 (22, 24): T(2) to 29.4625.
  // 5/8: at 17.81 with 5, 4, to 20.5; at 23.91 3, 2, 1 (18, 20, 22), there at 24, to 27.5; at
  //      30.0125 0 (24): T(1) to 31.5125.
  // 3/8: at 16.29 with 5, 4, to 20.5; at 22.39 3, 2, 1, to 27.5; at 28.4875 0, to 29.9875.
  ToyTraining toy = four_machines();
  toy.profile.host_launch = Seconds{2e-3};
  const Release version = GENERATE(Release{0, 19}, Release{0, 28});
  check(toy.run(make<Horovod>(fused(version, Seconds{6.1e-3}))), {30.5, 30.4625, 32.5125, 30.9875});
}

TEST_CASE("a slower GPU never shortens Horovod's mean iteration", "[timeline][horovod]") {
  // Where each iteration begins at the same part of a cycle, a hundredth more or less of compute
  // fuses other tensors, in all iterations: here one more would save up to 1.8 %.
  const HorovodOptimizerOptions options = fused({0, 19}, Seconds{6.1e-3});
  double before = 0;
  for (int percent = 0; percent <= 30; ++percent) {
    ToyTraining toy = four_machines();
    toy.profile.host_launch = Seconds{2e-3};
    toy.profile = scaled_to(toy.profile, (1 + 0.01 * percent) * toy.profile.iteration);
    const std::vector<double> lengths = toy.run(make<Horovod>(options));
    const double now = mean(std::span(lengths).last(HorovodQueue::parts));
    INFO(percent << " % slower: " << now << " ms");
    CHECK(now >= before);
    before = now;
  }
}

TEST_CASE("toy timeline: horovod, each tensor by itself and no cache", "[timeline][horovod]") {
  // Rank 0 takes q for a request of one rank: a cycle of r requests negotiates 4 (1 + r) q, an
  // empty one 4 q, and empty ones follow each other. All hooks fire at 0.
  HorovodOptimizerOptions options;
  options.core = unfused();
  SECTION("0.19: the thread waits for each gradient before its response") {
    // q = 0.5: empty cycles of 2. With a part p of one left all six negotiate 14, to 14 + 2 p. 5,
    // 4, 3 and 2 are there; 1 (16) and 0 (18) come while those move: six of 1.5, and the optimizer:
    // 24 + 2 p.
    options.core.request_time = Seconds{0.5e-3};
    check(four_machines().run(make<Horovod>(options)), {25.75, 24.25, 25.25, 24.75});
  }
  SECTION("0.28: the stream waits, so that the thread negotiates on") {
    // q = 0.6: empty cycles of 2.4. All six negotiate 16.8 and move from then on, 26.8 + 2.4 p.
    options.core.version = {0, 28};
    options.core.request_time = Seconds{0.6e-3};
    check(four_machines().run(make<Horovod>(options)), {28.9, 27.1, 28.3, 27.7});
  }
}

TEST_CASE("toy timeline: horovod, a kernel that copies many tensors", "[timeline][horovod]") {
  // As the first case, and a kernel takes 0.1. One kernel copies in at 18, T(6), one copies out and
  // scales: 18 + 0.1 + 6.5 + 0.1 + 1.
  ToyTraining toy = four_machines();
  toy.gpu.kernel_overhead = Seconds{0.1e-3};
  auto options = fused({0, 28}, Seconds{1e-3});
  check_each(toy.run(make<Horovod>(options)), 25.7);
  SECTION("HOROVOD_BATCH_D2D_MEMCOPIES=0: six copies in, six out, and one that scales") {
    options.core.batch_d2d_memcopies = false;
    check_each(toy.run(make<Horovod>(options)), 18 + 0.6 + 6.5 + 0.6 + 0.1 + 1);
  }
}

TEST_CASE("toy timeline: horovod, groups that do not fuse with each other",
          "[timeline][horovod][groups]") {
  // All hooks fire at 0, so do the groups {0, 1, 2} and {3, 4, 5}: fused they wait for the last
  // gradient, T(6) from 18.
  auto options = fused({0, 28}, Seconds{1e-3});
  options.groups = 2;
  check_each(four_machines().run(make<Horovod>(options)), 18 + 6.5 + 1);
  options.core.disable_group_fusion = true;
  SECTION("apart: T(3) from 12, when gradient 3 is there, and from 18") {
    check_each(four_machines().run(make<Horovod>(options)), 18 + 3.5 + 1);
  }
  SECTION("without groups every tensor goes by itself, 1.5 from 8, 10, .. 18") {
    options.groups = 0;
    check_each(four_machines().run(make<Horovod>(options)), 18 + 1.5 + 1);
  }
}

TEST_CASE("toy timeline: horovod, hierarchical, what two GPUs do not divide",
          "[timeline][horovod][hierarchical]") {
  // Two machines of two; the network carries 1 MB a ms, a core adds as much; nothing fuses. Of a
  // tensor: reduce-scatter 0.5 + 0.5, ring across 2 * 1/2 MB, sum of half a part of 0.5 MB 0.25,
  // all-gather 1: 3.25. The thread waits for each: six from 8 on.
  ToyTraining toy = ToyTraining::networked(2, 2, BytesPerSecond{1e9});
  auto options = fused({0, 28}, Seconds{1e-3});
  options.core.fusion_threshold = Bytes{0};
  options.core.reduction = HorovodReduction::hierarchical;
  options.core.host_sum_rate = BytesPerSecond{1e9};
  check_each(toy.run(make<Horovod>(options)), 8 + 6 * 3.25 + 1);
  // One element more: a reduce and a broadcast of it, 0.5 each.
  for (auto& layer : toy.profile.layers) layer.parameters.front().shape = {250'001};
  check_each(toy.run(make<Horovod>(options)), 8 + 6 * 4.25 + 1);
  SECTION("a fused buffer is padded: 3.5 + 6 * 1 + 3.5 + 6 * 0.25 from 18 on, and no rest") {
    options.core.fusion_threshold = Bytes{128LL * 1024 * 1024};
    check_each(toy.run(make<Horovod>(options)), 18 + 3.5 + 6 + 1.5 + 3.5 + 1);
  }
}

TEST_CASE("toy timeline: horovod, rows gathered through the host", "[timeline][horovod][gather]") {
  // Two machines of two; the network carries 100 MB a ms, a core copies 0.5. Tensor 0 is sparse: 4
  // ranks' 500 rows of 250 floats and their indices are 2.016 MB, fused, there at 18. The five
  // others fuse: T(5) from 16, to 21.5.
  ToyTraining toy = ToyTraining::networked(2, 2, BytesPerSecond{1e11});
  auto& table = toy.profile.layers.front().parameters.front();
  table.shape = {1000, 250};
  table.sparse_rows = 500;
  auto options = fused({0, 28}, Seconds{1e-3});
  options.core.host_copy_rate = BytesPerSecond{0.5e9};
  SECTION("hierarchical: 1.008 in, half of all across, 4.032 out") {
    options.core.gather = HorovodGather::mpi_hierarchical;
    check_each(toy.run(make<Horovod>(options)), 18 + 1.008 + 0.01008 + 4.032 + 1);
  }
  SECTION("flat: 1.008 into the fusion buffer, 3/4 of all to the next rank, 4.032 out of it") {
    options.core.gather = HorovodGather::mpi;
    check_each(toy.run(make<Horovod>(options)), 18 + 1.008 + 0.01512 + 4.032 + 1);
  }
  SECTION("NCCL: behind the all-reduce on the one stream, 0.5 + 2.016 / 2") {
    check_each(toy.run(make<Horovod>(options)), 21.5 + 1.508 + 1);
  }
}

TEST_CASE("Horovod's trace has a row a tensor, with the phases of Horovod's own timeline",
          "[timeline][horovod][trace]") {
  // No cache: iteration 1's first cycle begins 7/8 in and negotiates 6 requests for 4 (1 + 6) 0.1 =
  // 2.8, to 3.675. Three tensors fuse, T(3) three times slower is 10.5, a copy takes 0.1.
  // Gradients 5, 4, 3 are there at 8, 10, 12; the copy in takes the GPU to 12.1, so that 2, 1, 0
  // come at 14.1, 16.1, 18.1. {5, 4, 3} moves to 12.1 + 10.5 = 22.6 and is out at 22.7, {2, 1, 0}
  // is queued until then, moves from 22.8 to 33.3 and is out at 33.4. The iteration takes 34.4.
  ToyTraining toy = four_machines(3);
  toy.gpu.kernel_overhead = Seconds{0.1e-3};
  auto options = fused({0, 28}, Seconds{1e-3});
  options.core.cache_capacity = 0;
  options.core.request_time = Seconds{0.1e-3};
  options.core.fusion_threshold = Bytes{3'000'000};
  const RingLibrary library = toy.library();
  const StrategyFactory horovod = make<Horovod>(options);
  Job job = toy.job(horovod, library);
  job.record_spans = true;
  Point point;
  point.result = simulate(job);

  using Bars = std::vector<std::pair<std::string, std::pair<double, double>>>;
  std::map<std::string, Bars> rows;
  std::map<std::pair<int, int>, std::string> tensor_of;
  int process = -1;
  const auto trace = nlohmann::json::parse(chrome_trace({&point, 1}).dump());
  for (const auto& event : trace["traceEvents"]) {
    const int pid = event["pid"].get<int>();
    if (event["name"] == "process_name" && event["args"]["name"] == "tensors") process = pid;
    if (pid != process) continue;
    const std::pair row{pid, event["tid"].get<int>()};
    if (event["name"] == "thread_name") tensor_of[row] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const double start = event["ts"].get<double>() / 1e3;  // ms
    rows[tensor_of[row]].push_back(
        {event["name"], {start, start + event["dur"].get<double>() / 1e3}});
  }
  const auto check_row = [&](const std::string& tensor, const Bars& expected) {
    INFO(tensor);
    const Bars& bars = rows[tensor];
    REQUIRE(bars.size() == expected.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
      CHECK(bars[i].first == expected[i].first);
      CHECK(bars[i].second.first == Approx(expected[i].second.first).margin(2e-3));
      CHECK(bars[i].second.second == Approx(expected[i].second.second).margin(2e-3));
    }
  };
  CHECK(rows.size() == 6);
  check_row("h.4.weight", {{"NEGOTIATE_ALLREDUCE", {0.875, 3.675}},
                           {"WAIT_FOR_DATA", {3.675, 10}},
                           {"WAIT_FOR_OTHER_TENSOR_DATA", {10, 12}},
                           {"MEMCPY_IN_FUSION_BUFFER", {12, 12.1}},
                           {"NCCL_ALLREDUCE", {12.1, 22.6}},
                           {"MEMCPY_OUT_FUSION_BUFFER", {22.6, 22.7}}});
  check_row("h.0.weight", {{"NEGOTIATE_ALLREDUCE", {0.875, 3.675}},
                           {"WAIT_FOR_DATA", {3.675, 18.1}},
                           {"QUEUE", {18.1, 22.7}},
                           {"MEMCPY_IN_FUSION_BUFFER", {22.7, 22.8}},
                           {"NCCL_ALLREDUCE", {22.8, 33.3}},
                           {"MEMCPY_OUT_FUSION_BUFFER", {33.3, 33.4}}});
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
