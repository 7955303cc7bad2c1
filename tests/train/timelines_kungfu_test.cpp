
#include "strategies/peers/kungfu_cpu.hpp"
#include "strategies/peers/kungfu_nccl.hpp"
#include "strategies/peers/kungfu_pair_averaging.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp under KungFu, in ms since an
// iteration's start, worked out by hand. A tensor of 1 MB is one part. Copies between GPU and host
// take no time.

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr BytesPerSecond one_ms_a_mb{1e9};
constexpr BytesPerSecond four_ms_a_mb{0.25e9};

StrategyFactory cpu(const KungfuSessionOptions& session, int change_step) {
  return [session, change_step](const JobView& job) {
    return std::make_unique<KungfuCpu>(session, job, change_step);
  };
}
StrategyFactory nccl(bool fusion) {
  return [fusion](const JobView& job) { return std::make_unique<KungfuNccl>(job, fusion); };
}

/// Parts one after the other; a sum of 1 MB takes 0.5.
KungfuSessionOptions star() {
  KungfuSessionOptions options;
  options.graph = KungfuGraph::star;
  options.window = 1;
  options.host.sum_rate = BytesPerSecond{2e9};
  return options;
}

}  // namespace

TEST_CASE("toy timeline: kungfu_sync, a star of two ranks", "[timeline][kungfu]") {
  // Rank 1 to rank 0 in 1, sum in 0.5, back in 1: 2.5 behind each gradient; the ways up and down of
  // neighbouring tensors take different directions of the link.
  check_each(ToyTraining::networked(1, 2, one_ms_a_mb).run(cpu(star(), 0)), 18 + 2.5 + 1);
}

TEST_CASE("What a rank sends is counted by rank, not by the busiest of each exchange",
          "[training][kungfu]") {
  // Rank 1 sends 1 MB a tensor up, rank 0 sends it back: 6 MB each, not 12.
  const auto toy = ToyTraining::networked(1, 2, one_ms_a_mb);
  const StrategyFactory strategy = cpu(star(), 0);
  const auto library = toy.library();
  CHECK(simulate(toy.job(strategy, library)).bytes_per_rank == 6'000'000);
}

TEST_CASE("toy timeline: kungfu_sync, a tree of stars of four ranks", "[timeline][kungfu]") {
  // BINARY_TREE_STAR on two machines of two. P: rank 0 reads what 1 sends in 0.2, as 2 and 3 do; A:
  // it adds in 0.25; N: 1 from rank 2; S: it adds in 0.25; N back, and beside it B0: rank 0 sends
  // to 1 in 0.2; B: rank 2 to 3. Rank 0 is done before the next gradient is ready.
  //     ready P      A            N      S            B0           N      B
  //   5   8    8.2    8.2- 8.45   9.45   9.45- 9.7    9.7- 9.9    10.7   10.9
  //   0  18   18.2   18.2-18.45  19.45  19.45-19.7   19.7-19.9    20.7   20.9
  KungfuSessionOptions options = star();
  options.graph = KungfuGraph::binary_tree_star;
  options.host.sum_rate = BytesPerSecond{4e9};
  options.host.socket_rate = BytesPerSecond{5e9};
  check_each(ToyTraining::networked(2, 2, one_ms_a_mb).run(cpu(options, 0)), 20.9 + 1);
}

TEST_CASE("toy timeline: kungfu_sync, a star of four ranks of a machine", "[timeline][kungfu]") {
  // Rank 0 reads what 1 to 3 send, adds three arrays in 0.4 each and sends them back.
  KungfuSessionOptions options = star();
  options.host.sum_rate = BytesPerSecond{2.5e9};
  options.host.socket_rate = BytesPerSecond{4e9};
  SECTION("ten cores each") {
    // 0.25 over three sockets at once, 1.2, and 0.25 back.
    check_each(ToyTraining(4).run(cpu(options, 0)), 18 + 1.7 + 1);
  }
  SECTION("a core each") {
    // 3 x 0.25, 1.2 and 3 x 0.25, more than the 2 between gradients: its one core never waits.
    options.host.cores = 4;
    check_each(ToyTraining(4).run(cpu(options, 0)), 8 + 6 * 2.7 + 1);
  }
  SECTION("memory of 20 GB/s") {
    // Four processes at work, two accesses a byte of each of three sockets: 3 x 2 x 4 / 20 either
    // way. One adds: 3 / 20 is less than its 0.4. Reading, adding and sending go side by side.
    options.host.memory_rate = BytesPerSecond{20e9};
    check_each(ToyTraining(4).run(cpu(options, 0)), 18 + 1.2 + 1.2 + 1.2 + 1);
  }
}

TEST_CASE("toy timeline: kungfu_sync, nccl", "[timeline][kungfu]") {
  SECTION("fused") {
    // T(6) = 6.5 behind the last gradient.
    check_each(ToyTraining().run(nccl(true)), 18 + 6.5 + 1);
  }
  SECTION("in the order of the names") {
    // h.0 comes last of all, and the others wait for it: six of T(1) = 1.5.
    check_each(ToyTraining().run(nccl(false)), 18 + 6 * 1.5 + 1);
  }
}

TEST_CASE("toy timeline: kungfu_sync, hierarchical", "[timeline][kungfu]") {
  // Two machines of two. Reduces in the order of the names, so that all wait for h.0's gradient at
  // 18: H(1) = 1 each, h.k's ends at 19 + k. Between the first GPUs' hosts 1 up, sum 0.5, 1 back,
  // which neighbouring tensors do beside each other: 21.5 + k. Broadcasts in the same order, H(1):
  // 22.5 + k, of which the last is k = 5.
  const StrategyFactory strategy = [](const JobView& job) {
    return std::make_unique<KungfuHierarchical>(star(), job);
  };
  check_each(ToyTraining::networked(2, 2, one_ms_a_mb).run(strategy), 27.5 + 1);
}

TEST_CASE("toy timeline: kungfu_sma", "[timeline][kungfu]") {
  SECTION("averaging fits beside the computation") {
    // Variables go up from 0 to 6, the last is summed at 6.5 and back at 7.5.
    check_each(ToyTraining::networked(1, 2, one_ms_a_mb).run(cpu(star(), KungfuCpu::always)), 19);
  }
  SECTION("averaging is longer") {
    // 4 a MB: up to 24, summed at 24.5, back at 28.5; then the optimizer.
    check_each(ToyTraining::networked(1, 2, four_ms_a_mb).run(cpu(star(), KungfuCpu::always)),
               28.5 + 1);
  }
}

TEST_CASE("toy timeline: kungfu_ada", "[timeline][kungfu]") {
  // Averages in iterations 0 and 1 as kungfu_sma; 2 first broadcasts six variables of 1 each,
  // forward and backward to 6 + 18, and then is as kungfu_sync, 2.5 behind the last gradient.
  auto toy = ToyTraining::networked(1, 2, one_ms_a_mb);
  toy.all_phases = true;
  check(toy.run(cpu(star(), 2)), {19, 27.5, 21.5, 21.5});
  SECTION("the phase that lasts") {
    toy.all_phases = false;
    check_each(toy.run(cpu(star(), 2)), 21.5);
  }
}

TEST_CASE("toy timeline: kungfu, a change of workers", "[timeline][kungfu][elastic]") {
  // As kungfu_sync's star of two ranks, 21.5. Small messages and latencies take nothing here.
  // Behind a change six variables of 1 each come first, and before them who joins starts in 5;
  // before a change each look that disagrees takes 50.
  const auto strategy = [](const WorkerChange& change) -> StrategyFactory {
    return [change](JobView job) {
      job.change = change;
      return std::make_unique<KungfuCpu>(star(), job, 0);
    };
  };
  auto toy = ToyTraining::networked(1, 2, one_ms_a_mb);
  toy.warmup = 0;
  toy.iterations = 2;
  check(toy.run(strategy({.behind = true, .workers = 2})), {6 + 21.5, 21.5});
  check(
      toy.run(strategy({.behind = true, .workers = 2, .joined = 1, .worker_start = Seconds{5e-3}})),
      {5 + 6 + 21.5, 21.5});
  check(toy.run(strategy({.workers = 1})), {21.5, 21.5});
  check(toy.run(strategy({.workers = 1, .retries = 2})), {2 * 50 + 21.5, 21.5});
}

TEST_CASE("toy timeline: kungfu_pair_averaging", "[timeline][kungfu]") {
  PairAveragingOptions options;
  options.copy_rate = one_ms_a_mb;
  SECTION("the model comes beside the computation") {
    // 6 MB in 6, and the own one is stored in 6; behind backward the optimizer only.
    check_each(ToyTraining::networked(1, 2, one_ms_a_mb).run(make<KungfuPairAveraging>(options)),
               19);
  }
  SECTION("the model takes longer") {
    // 24, then the optimizer.
    check_each(ToyTraining::networked(1, 2, four_ms_a_mb).run(make<KungfuPairAveraging>(options)),
               25);
  }
  SECTION("two workers of a machine answer each other at the same time") {
    // 24 each, then the optimizer.
    options.host.socket_rate = four_ms_a_mb;
    check_each(ToyTraining(2).run(make<KungfuPairAveraging>(options)), 25);
  }
}

TEST_CASE("A job with more flows at once than SimGrid's transport has lanes for runs all the same",
          "[training][kungfu]") {
  // 1 MB is 1000 parts, all under way at once.
  KungfuSessionOptions session = star();
  session.part = Bytes{1000};
  session.window = 1000;
  session.operations = 1000;
  auto toy = ToyTraining::networked(1, 2, one_ms_a_mb);
  const StrategyFactory strategy = cpu(session, 0);
  const auto library = toy.library();
  const RunResult chosen = simulate(toy.job(strategy, library));
  toy.engine.slack = 0;
  CHECK(chosen.iteration_s == simulate(toy.job(strategy, library)).iteration_s);
}
