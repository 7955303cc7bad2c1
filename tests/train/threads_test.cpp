// A point of many GPUs on several threads.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/config/yaml/yaml_knobs.hpp"
#include "sim/core/parallel.hpp"
#include "sim/engine/refinement.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/dear.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Lets loops use so many threads, and then one again.
class Threads {
 public:
  explicit Threads(int threads) { use_threads(threads); }
  ~Threads() { use_threads(1); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  Threads(Threads&&) = delete;
  Threads& operator=(Threads&&) = delete;
};

/// 16 384 GPUs are 256 blocks of 64: the draws, and the passes of what ranks have, are shared.
RunResult simulate_on(int threads, StrategyMaker (*read)(Knobs& knobs)) {
  const Threads used(threads);
  ToyTraining toy(8, 2048);
  toy.warmup = 0;
  toy.iterations = 2;
  config::KnobList defaults;
  const auto strategy = read(defaults);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter = {.rank = 0.02, .iteration = 0.05, .layer = 0.02};
  return simulate(job);
}

}  // namespace

TEST_CASE("The parts of a loop are the whole, once, on any number of threads", "[train][threads]") {
  const int threads = GENERATE(1, 2, 3, 8);
  const std::size_t count = GENERATE(0U, 1U, 5U, 1000U);
  const Threads used(threads);
  std::vector<int> met(count, 0);
  std::size_t sum = 0;
  double least = 1e9;
  double most = 0;
  for (int repeat = 1; repeat <= 20; ++repeat) {
    in_parts(count, 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        ++met[i];
        add_shared(sum, i);
        lower_shared(least, static_cast<double>(i));
        raise_shared(most, static_cast<double>(i));
      }
    });
    CHECK(met == std::vector<int>(count, repeat));
  }
  if (count == 0) return;
  CHECK(sum == 20 * (count * (count - 1) / 2));  // 0 + 1 + ... + (count - 1), 20 times
  CHECK(least == 0);
  CHECK(most == static_cast<double>(count - 1));
}

TEST_CASE("Of what parts throw the first part's is thrown, and the next loop runs",
          "[train][threads]") {
  const Threads used(3);
  const auto fail = [](std::size_t begin, std::size_t end) {
    if (end > 30)
      throw std::runtime_error("from " + std::to_string(std::max<std::size_t>(begin, 30)));
  };
  for (int repeat = 0; repeat < 20; ++repeat) CHECK_THROWS_WITH(in_parts(100, 2, fail), "from 30");
  std::size_t done = 0;
  in_parts(100, 2, [&](std::size_t begin, std::size_t end) { add_shared(done, end - begin); });
  CHECK(done == 100);
}

TEST_CASE("Phases are refined to the same classes on 1, 2 and 3 threads", "[train][threads]") {
  constexpr int ranks = 2048;
  std::vector<ClusterLink> links = toy::star(ranks, 1e9, 1e-6);
  links[5].capacity *= 4;
  // Rings of all ranks, of a half and of a quarter: only the slow link's flow differs in each.
  const std::vector patterns{toy::ring(toy::ranks(ranks)), toy::ring(toy::ranks(ranks / 2)),
                             toy::ring(toy::ranks(ranks)), toy::ring(toy::ranks(ranks / 4))};
  const FlowGraph graph = make_flow_graph(links, patterns, true);
  REQUIRE(graph.parts.size() == 4);
  const Partition one = refine(graph);
  CHECK(one.flow_classes == 8);
  for (const int threads : {2, 3}) {
    const Threads used(threads);
    CHECK(refine(graph) == one);
  }
}

TEST_CASE("A job of 16 384 GPUs has the same bits on 1, 2 and 3 threads", "[train][threads]") {
  const auto read = GENERATE(&Ddp::read, &Dear::read, &read_wfbp);
  const RunResult one = simulate_on(1, read);
  for (const int threads : {2, 3}) {
    const RunResult several = simulate_on(threads, read);
    CHECK(several.iteration_s == one.iteration_s);
    CHECK(several.breakdown == one.breakdown);
  }
}
