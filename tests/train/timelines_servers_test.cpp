#include <memory>

#include "strategies/servers/byteps.hpp"
#include "strategies/servers/byteps_async.hpp"
#include "strategies/servers/bytescheduler.hpp"
#include "strategies/servers/mxnet_kvstore.hpp"
#include "strategies/servers/p3.hpp"
#include "strategies/servers/ps_async.hpp"
#include "strategies/servers/ps_sync.hpp"
#include "strategies/servers/tictac.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp with parameter servers, in ms since
// an iteration's start, worked out by hand. One server on a machine of its own; two worker machines
// push to it at once, so that 1 MB of each takes two times its time on a link. Copies between GPU
// and host take no time.

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr BytesPerSecond one_ms_a_mb{1e9};
/// Two machines' MB take 2.6 ms: pushes then end between gradients.
constexpr BytesPerSecond slower{2e6 / 2.6e-3};

/// Two machines and a server's. @param gpus  of a machine.
ToyTraining served(BytesPerSecond network, int gpus = 1) {
  return ToyTraining::networked(gpus, 2, network, 1);
}

/// A server that sums and updates 1 MB of two machines in 0.5 ms: two vectors and two passes of the
/// update, 4 MB at 8 GB/s.
KvStoreOptions store() {
  KvStoreOptions options;
  options.sum_rate = BytesPerSecond{8e9};
  return options;
}

StrategyFactory byteps(BytesPerSecond sum_rate) {
  BytePsOptions options;
  options.sum_rate = sum_rate;
  return make<BytePs>(options);
}

ParameterServerOptions one_at_a_time(BytesPerSecond rate) {
  ParameterServerOptions options;
  options.in_flight = 1;
  options.in_forward_order = true;
  options.server_cpu = toy_cpu(rate);
  return options;
}

}  // namespace

TEST_CASE("toy timeline: byteps on one machine", "[timeline][byteps]") {
  // REDUCE and BROADCAST only, H(1) = 1 each: a gradient every 2, the last one at 18.
  check_each(ToyTraining().run(byteps(one_ms_a_mb)), 18 + 2 + 1);
}

TEST_CASE("toy timeline: byteps with a server", "[timeline][byteps]") {
  // REDUCE 1, push 2, sum 2 MB at 4 GB/s 0.5, pull 2, BROADCAST 1; REDUCE and BROADCAST share a
  // stream (a waiting BROADCAST goes first where it was ready first).
  //      ready REDUCE     push       sum   pull       BROADCAST
  //   5    8    8   -  9    9 - 11   11.5  11.5-13.5  13.5-14.5
  //   4   10   10   - 11   11 - 13   13.5  13.5-15.5  15.5-16.5
  //   3   12   12   - 13   13 - 15   15.5  15.5-17.5  17.5-18.5
  //   2   14   14.5 - 15.5 15.5-17.5 18    18  -20    20  -21
  //   1   16   16.5 - 17.5 17.5-19.5 20    20  -22    22  -23
  //   0   18   18.5 - 19.5 19.5-21.5 22    22  -24    24  -25
  check_each(served(one_ms_a_mb, 2).run(byteps(BytesPerSecond{4e9})), 25 + 1);
}

TEST_CASE("toy timeline: byteps with two PCIe switches a machine", "[timeline][byteps]") {
  BytePsOptions options;
  options.pcie_switch_size = 2;
  SECTION("and a server") {
    // As above; between REDUCE and push two ranks each add half a MB at 4 GB/s: 0.125.
    //      ready REDUCE          sum    push          sum    pull        BROADCAST
    //   5    8    8    - 9       9.125   9.125-11.125 11.625 11.625-13.625 13.625-14.625
    //   4   10   10    -11      11.125  11.125-13.125 13.625 13.625-15.625 15.625-16.625
    //   3   12   12    -13      13.125  13.125-15.125 15.625 15.625-17.625 17.625-18.625
    //   2   14   14.625-15.625  15.75   15.75 -17.75  18.25  18.25 -20.25  20.25 -21.25
    //   1   16   16.625-17.625  17.75   17.75 -19.75  20.25  20.25 -22.25  22.25 -23.25
    //   0   18   18.625-19.625  19.75   19.75 -21.75  22.25  22.25 -24.25  24.25 -25.25
    options.sum_rate = BytesPerSecond{4e9};
    check_each(served(one_ms_a_mb, 4).run(make<BytePs>(options)), 25.25 + 1);
  }
  SECTION("on one machine") {
    // Two ranks each add half a MB in 0.3; REDUCE and BROADCAST 1 each, in the order of
    //   5: R 8-9, sum 9.3, B 9.3-10.3 | 4: R 10.3-11.3, sum 11.6, B 11.6-12.6
    //   3: R 12.6-13.6, sum 13.9, B 13.9-14.9 | 2: R 14.9-15.9, sum 16.2 | 1: R 16-17, sum 17.3
    //   2: B 17-18 | 1: B 18-19 | 0: R 19-20, sum 20.3, B 20.3-21.3
    options.sum_rate = BytesPerSecond{0.5e6 / 0.3e-3};
    check_each(ToyTraining(4).run(make<BytePs>(options)), 21.3 + 1);
  }
}

TEST_CASE("toy timeline: byteps with credit for one partition", "[timeline][byteps]") {
  // One machine, collectives three times slower: REDUCE and BROADCAST 3 each. The credit comes back
  // with the group that the REDUCE ran in, and then the front layer goes first:
  //   REDUCE 5  8-11 | 4 11-14, BROADCAST 5 14-17 | 1 17-20, 4 20-23 | 0 23-26, 1 26-29 |
  //   2 29-32, 0 32-35 | 3 35-38, 2 38-41 | BROADCAST 3 41-44.
  BytePsOptions options;
  options.partition_bytes = Bytes{1'000'000};
  options.scheduling_credit = 1;
  ToyTraining toy;
  toy.cost = std::make_shared<AlphaBeta>(3);
  check_each(toy.run(make<BytePs>(options)), 44 + 1);
}

TEST_CASE("toy timeline: byteps with the cross barrier", "[timeline][byteps]") {
  // Pushes one after the other in the order of their gradients: layer 0's from 21 to 23.6, summed
  // at 24.1, back at 26.7. There the next forward begins, with layers that each take 1/6 to update
  // and 1 to run: backward starts at 33.7; it had started at 6.
  BytePsOptions options;
  options.partition_bytes = Bytes{1'000'000};
  options.sum_rate = BytesPerSecond{4e9};
  options.cross_barrier = true;
  check_each(served(slower).run(make<BytePs>(options)), 33.7 - 6);
}

TEST_CASE("toy timeline: byteps with a server beside the workers of a machine",
          "[timeline][byteps]") {
  // By IPC the first machine's MB takes nothing, and the other one has the link for itself: push 1,
  // sum 0.5, pull 1 behind each gradient.
  BytePsOptions options;
  options.sum_rate = BytesPerSecond{4e9};
  options.enable_ipc = true;
  auto toy = ToyTraining::networked(1, 2, one_ms_a_mb);
  toy.servers = {0};
  check_each(toy.run(make<BytePs>(options)), 18 + 2.5 + 1);
}

TEST_CASE("toy timeline: byteps, asynchronous, two workers", "[timeline][byteps]") {
  // Backward and the own step end at 19; then six pushes in gradient order, each added in 0.5 by
  // the server's one handler, and pulled. Iteration 0: both machines push at once, 2 each, the last
  // from 29 to 31; added at 31.5 and 32. Worker 0 pulls half of it alone, then beside worker
  // 1: 31.5 to 33; worker 1 ends at 33.5. From then on worker 1 is 0.5 behind. In times of worker
  // 0's iteration: its pushes from 19 on, the first in 1.5, the others in 2, beside worker 1's, the
  // last one to 30.5, added at 31; worker 1's, half of it alone, to 31, added at 31.5. Pulls:
  // worker 0's from 31, alone to 31.5, then beside worker 1's to 32.5; that one alone from there to
  // 33, 32.5 of its own.
  BytePsOptions options;
  options.partition_bytes = Bytes{1'000'000};
  options.sum_rate = BytesPerSecond{2e9};
  const auto toy = served(one_ms_a_mb);
  const auto library = toy.library();
  const auto result = simulate(toy.job(make<BytePsAsync>(options), library));
  for (const double seconds : result.iteration_s) CHECK(seconds == Approx(32.5e-3));
  // Each addition misses the other worker's last one; worker 0's very first six have none before.
  // Worker 0, through first, begins one more: six additions.
  REQUIRE(result.staleness);
  CHECK(*result.staleness == Approx((6.0 + 4 * 12 + 6) / (5 * 12 + 6)));
}

TEST_CASE("toy timeline: bytescheduler with servers", "[timeline][bytescheduler]") {
  // Credit for one tensor, which comes back with the end of its push: push 2.6, sum 0.5, pull 2.6.
  //      ready push       sum   pull
  //   5    8    8  -10.6  11.1  11.1-13.7
  //   4   10   10.6-13.2  13.7  13.7-16.3
  //   3   12   13.2-15.8  16.3  16.3-18.9
  //   2   14   15.8-18.4  18.9  18.9-21.5
  //   0   18   18.4-21    21.5  21.5-24.1   0 is more urgent than 1, which came before
  //   1   16   21  -23.6  24.1  24.1-26.7
  // The next iteration starts at 18: layer 0 from 24.1, layer 1 from 26.7, and five layers of 1,
  // behind a sixth of the worker's step each, end at 32.5, where backward starts; it had at 6.
  ByteSchedulerOptions options;
  options.mode = "ps";
  options.credit = 250'000;
  options.store = store();
  check_each(served(slower).run(make<ByteScheduler>(options)), 26.7 + 5 * (1 + 1. / 6) - 6);
}

TEST_CASE("toy timeline: mxnet_kvstore with servers", "[timeline][mxnet_kvstore]") {
  // In the order of gradients, from 8 on one push after the other, 2.6 each: layer 0's from 21 to
  // 23.6, summed and updated at 24.1, back at 26.7. There the next forward begins, six layers of a
  // sixth of the worker's step and 1: backward starts at 33.7; it had started at 6.
  check_each(served(slower).run(make<MxnetKvStore>(store())), 33.7 - 6);
}

TEST_CASE("toy timeline: mxnet_kvstore, local", "[timeline][mxnet_kvstore]") {
  // Four GPUs of 1 MB at 8 GB/s: 0.5, and the update 0.25. Layer 0's gradient, there at 18, is the
  // parameter at 18.75, where six layers of 7/6 begin: backward starts at 25.75.
  KvStoreOptions options = store();
  options.kv_store = "local";
  check_each(ToyTraining().run(make<MxnetKvStore>(options)), 25.75 - 6);
}

TEST_CASE("toy timeline: mxnet_kvstore, device", "[timeline][mxnet_kvstore]") {
  // Copies and sums on a machine's GPUs take no time: six layers of 7/6 from 18 on, behind the
  // launch of the first step, 5.2 us.
  KvStoreOptions options = store();
  options.kv_store = "device";
  check_each(ToyTraining().run(make<MxnetKvStore>(options)), 18 + 5.2e-3 + 7 - 6);
}

TEST_CASE("toy timeline: p3", "[timeline][p3]") {
  // Slices of half a MB, two a tensor: push 1.3, sum 0.25, pull 1.3. Pushes follow each other from
  // 8 on, at each end the front layer's slice that is there (gradients at 8, 10, .. 18):
  // 5a 9.3, 5b 10.6, 4a 11.9, 4b 13.2, 3a 14.5, 2a 15.8, 2b 17.1, 1a 18.4, 0a 19.7, 0b 21,
  // 1b 22.3, 3b 23.6; each is back 1.55 later: 0b 22.55, 1b 23.85, 3b 25.15.
  // The next iteration: layer 0 from 22.55, a sixth of the worker's step and its forward, to 23.72;
  // layer 1 from 23.85; layer 2 and all after it do not wait, and backward began at 6.
  P3::Options options;
  options.slice_size = 125'000;
  options.store = store();
  check_each(served(slower).run(make<P3>(options)), 23.85 + 5 * (1 + 1. / 6) - 6);
}

TEST_CASE("toy timeline: tictac", "[timeline][tictac]") {
  // Pulls of 2 in forward order, sums and updates of 4 MB at 8 GB/s: 0.5. Iteration 0 pulls from 0
  // on, layer 5 to 12: a sixth of the worker's step, forward to 13 1/6, gradients 2, 4, .. 12
  // later, each pushed in 2; the last one is applied at 27 2/3, where the next pulls begin.
  TicTac::Options options;
  options.sum_rate = BytesPerSecond{8e9};
  check_each(served(one_ms_a_mb).run(make<TicTac>(options)), 27.5 + 1. / 6);
}

TEST_CASE("toy timeline: ps_sync", "[timeline][ps_sync]") {
  // Push 2, sum and update 2 MB at 4 GB/s: 0.5. Gradients at 8, 10, .. 18.
  PsSyncOptions options;
  options.servers = one_at_a_time(BytesPerSecond{4e9});
  SECTION("pulls wait for all") {
    // All are updated at 20.5; pulls in forward order, layer 5 to 32.5, its forward to 33.5, where
    // backward starts; it had started at 6.
    check_each(served(one_ms_a_mb).run(make<PsSync>(options)), 33.5 - 6);
  }
  SECTION("each is pulled when it is updated") {
    // Variable 0 is there at 20.5 + 2, all others before: six layers to 28.5.
    options.barrier = false;
    check_each(served(one_ms_a_mb).run(make<PsSync>(options)), 28.5 - 6);
  }
  SECTION("the next iteration waits for all") {
    // All are pulled at 20.5 + 12 = 32.5; no optimizer on the workers.
    options.layer_wait = false;
    check_each(served(one_ms_a_mb).run(make<PsSync>(options)), 32.5);
  }
}

TEST_CASE("toy timeline: ps_async with two workers", "[timeline][ps_async]") {
  // The server applies 1 MB in 1, one after the other.
  // Iteration 0: both pull at once, 2 each: layer 5 from 12 to 13; gradients at 15, 17, .. 25,
  // pushed in 2; worker 0's last one is applied at 28, worker 1's at 29.
  // From then on worker 1 is 1 behind. Worker 0 pulls layer 0 alone in 1, then both share the
  // server's link: layers 1 to 5 in 2 each, to 11; worker 1 layers 0 to 4 in 2 each, to 10 of its
  // own, and layer 5 alone, to 11. Forward of layer 5 to 12, gradients at 14, 16, .. 24. Pushes
  // alternate: 1 each, applied in 1: 26.
  PsAsyncOptions options;
  options.servers = one_at_a_time(one_ms_a_mb);
  const auto toy = served(one_ms_a_mb);
  const auto library = toy.library();
  const auto result = simulate(toy.job(make<PsAsync>(options), library));
  for (const double seconds : result.iteration_s) CHECK(seconds == Approx(26e-3));
  // Worker 1's updates come right behind worker 0's: each misses one, six an iteration. Worker 0
  // asks for variable 0 while worker 1's last update of it is applied: one more in iterations 1 to
  // 4. Of 12 updates in each of 5 iterations. Worker 0, through first, begins one more: six
  // updates, of which one misses the same.
  REQUIRE(result.staleness);
  CHECK(*result.staleness == Approx((6.0 + 4 * 7 + 1) / (5 * 12 + 6)));
}

TEST_CASE("toy timeline: ps_async with two workers that pull at once", "[timeline][ps_async]") {
  // Iteration 0: forward to 6, gradients at 8, 10, .. 18, both pushed in 2; the last ones at 20,
  // applied at 21 and 22, pulled in 1: the next forwards begin at 22 and 23.
  // From then on worker 1 is 1 behind and all goes alone: gradients 8, 10, .. 18 after a forward
  // began, the last pushed at 19, applied at 20, pulled at 21, when the next forward begins.
  PsAsyncOptions options;
  options.servers = one_at_a_time(one_ms_a_mb);
  options.pull_at_once = true;
  auto toy = served(one_ms_a_mb);
  toy.warmup = 2;
  const auto library = toy.library();
  const auto result = simulate(toy.job(make<PsAsync>(options), library));
  for (const double seconds : result.iteration_s) CHECK(seconds == Approx(21e-3));
}

TEST_CASE("toy timeline: ssp with two workers", "[timeline][ssp]") {
  // Bound 0: as iteration 0 of ps_async, but worker 0 (28) waits for worker 1 (29), and both pull
  // together again.
  PsAsyncOptions options;
  options.servers = one_at_a_time(one_ms_a_mb);
  options.bound = 0;
  check_each(served(one_ms_a_mb).run(make<PsAsync>(options)), 29);
}
