// One prediction of each strategy of the catalogue with its default knobs, as `gradwire compare
// --strategies all` makes them: the job of scenarios/compare_64_gpus.yaml on 64 and 1024 GPUs.
// Budgets, without the start of the process and the reading of files: all together 10 s at 64 GPUs
// and 60 s at 1024 on 2 cores, none above 5 s.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "sim/cli/predict.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/strategy_catalogue.hpp"

namespace {

using namespace gradwire;

constexpr const char* scenario_file = GRADWIRE_SOURCE_DIR "/scenarios/compare_64_gpus.yaml";
constexpr int gpus_per_node = 8;

void predict(benchmark::State& state, const std::string& strategy) {
  const auto scenarios = config::read_scenario(
      scenario_file, {fmt::format("cluster.nodes={}", state.range(0) / gpus_per_node),
                      fmt::format("strategy={{name: {}}}", strategy)});
  for ([[maybe_unused]] auto unused : state) {
    const RunResult result = cli::predict(scenarios.front(), false);
    benchmark::DoNotOptimize(result.iteration_s.data());
    state.counters["flow_classes"] = static_cast<double>(result.engine_flow_classes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& entry : config::strategy_catalogue()) {
    benchmark::RegisterBenchmark(entry.name.c_str(), predict, entry.name)
        ->Arg(64)
        ->Arg(1024)
        ->Iterations(1)  // SimGrid 3.32 keeps the models of former engines, which slows later ones
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
