// Whole predictions: planning, reduction and three iterations of ResNet-50 on machines of 8 V100,
// without the start of the process and the reading of files. Budgets (ARCHITECTURE of the engine, 2
// cores): 1024 GPUs 20 ms with 25 MiB buckets and 100 ms per tensor, 4096 GPUs 50 and 250 ms, 65
// 536 GPUs 1 s, jitter a rank at 4096 ranks 30 ms an iteration on top.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "tests/source_dir.hpp"

namespace {

using namespace gradwire;

constexpr const char* scenario_file = GRADWIRE_SOURCE_DIR "/scenarios/ddp_1024_gpus.yaml";

void predict(benchmark::State& state, const char* strategy, const char* jitter,
             std::vector<std::string> sets = {}) {
  sets.insert(sets.end(),
              {fmt::format("cluster.nodes={}", state.range(0) / 8),
               fmt::format("strategy={{name: {}}}", strategy), "run.iterations=3", "run.warmup=0",
               fmt::format("jitter={{iteration: {0}, layer: {0}}}", jitter)});
  const auto scenarios = config::read_scenario(scenario_file, sets);
  std::size_t classes = 0;
  for ([[maybe_unused]] auto unused : state) {
    const RunResult result = cli::predict(scenarios.front(), false);
    classes = result.engine_flow_classes;
    benchmark::DoNotOptimize(result.iteration_s.data());
  }
  state.counters["flow_classes"] = static_cast<double>(classes);
}

void buckets(benchmark::State& state) {
  predict(state, "ddp, broadcast_buffers: false", "0 %");
}
void per_tensor(benchmark::State& state) {
  predict(state, "wfbp", "0 %");
}
void buckets_jitter(benchmark::State& state) {
  predict(state, "ddp, broadcast_buffers: false", "1 %");
}

/// BERT-Large, 393 tensors. Budget: 400 ms at 4096 GPUs.
void bert_per_tensor(benchmark::State& state) {
  predict(state, "wfbp", "0 %",
          {"profile={model: bert_large, gpu: v100-sxm2-32gb, batch_per_gpu: 8, dtype: fp32}"});
}
/// Hashed routes collide at random: nearly every flow is a class by itself. Budget: 5 s.
void collisions(benchmark::State& state) {
  predict(state, "ddp, broadcast_buffers: false", "0 %",
          {"cluster.fabric={kind: fat_tree, link: ib_edr, nodes_per_leaf: 4, routing: ecmp, "
           "ecmp_seed: 1}"});
}

BENCHMARK(bert_per_tensor)->Arg(1024)->Arg(4096)->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(collisions)->Arg(1024)->Arg(4096)->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(buckets)->Arg(1024)->Arg(4096)->Arg(65536)->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(per_tensor)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(65536)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(buckets_jitter)->Arg(1024)->Arg(4096)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
