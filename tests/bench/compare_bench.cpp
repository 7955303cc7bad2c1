// One prediction of each entry of `gradwire compare --strategies all`, with as many iterations as
// it runs: the job of scenarios/compare_64_gpus.yaml on 64 and 1024 GPUs. Budgets, with the reading
// of files: all together 10 s at 64 GPUs and 60 s at 1024 on 2 cores.

#include <benchmark/benchmark.h>
#include <fmt/ranges.h>

#include <string>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/strategy/contenders.hpp"
#include "tests/source_dir.hpp"

namespace {

using namespace gradwire;

constexpr const char* scenario_file = GRADWIRE_SOURCE_DIR "/scenarios/compare_64_gpus.yaml";
constexpr int gpus_per_node = 8;
const RunSpec compares_run = {.iterations = 4, .warmup = 2, .seed = 1};  // sim/cli/compare.cpp

void predict(benchmark::State& state, const config::Contender& contender) {
  for ([[maybe_unused]] auto unused : state) {
    const config::Scenario scenario = config::read_contender(
        scenario_file, {fmt::format("cluster.nodes={}", state.range(0) / gpus_per_node)}, "",
        contender, compares_run);
    const RunResult result = cli::predict(scenario, false);
    benchmark::DoNotOptimize(result.iteration_s.data());
    state.counters["flow_classes"] = static_cast<double>(result.engine_flow_classes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto names = fmt::format("{}", fmt::join(config::all_contenders(), ","));
  for (const auto& contender : config::parse_contenders(names, "all strategies")) {
    benchmark::RegisterBenchmark(contender.name.c_str(), predict, contender)
        ->Arg(64)
        ->Arg(1024)
        ->Iterations(1)  // SimGrid 3.32 keeps the models of former engines, which slows later ones
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
