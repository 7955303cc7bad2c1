// Planning a collective and the engine's set-up for it, alone, on machines of 8 A100. Budget: 20 ms
// a pattern at 4096 ranks.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <span>
#include <string>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/engine/flow_graph.hpp"
#include "sim/engine/quotient.hpp"
#include "sim/engine/refinement.hpp"
#include "tests/source_dir.hpp"

namespace {

using namespace gradwire;

constexpr const char* scenario_file = GRADWIRE_SOURCE_DIR "/scenarios/ddp_1024_gpus.yaml";

void reduced(benchmark::State& state, const AlgorithmVariant* variant) {
  const auto scenario =
      config::read_scenario(scenario_file, {fmt::format("cluster.nodes={}", state.range(0) / 8),
                                            "cluster.node=dgx_a100", "cluster.fabric.link=ib_hdr"})
          .front();
  for ([[maybe_unused]] auto unused : state) {
    try {
      const Pattern pattern = variant->plan(*scenario.cluster, scenario.placement);
      // Not make_engine: SimGrid 3.32 keeps the models of former engines, which slows later ones.
      const FlowGraph graph =
          make_flow_graph(scenario.cluster->links(), std::span(&pattern, 1), true);
      const Partition partition = refine(graph);
      benchmark::DoNotOptimize(make_quotient(graph, partition));
      state.counters["flows"] = static_cast<double>(graph.flow_count());
      state.counters["flow_classes"] = partition.flow_classes;
    } catch (const SimulationError& error) {
      state.SkipWithError(error.what());
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Pages come from the system once, not in every repeat, where they take half of the time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  for (const Algorithm& algorithm : algorithms()) {
    for (const AlgorithmVariant& variant : algorithm.variants) {
      const std::string name = fmt::format("{}/{}", algorithm.name, name_of(variant.kind));
      benchmark::RegisterBenchmark(name.c_str(), reduced, &variant)
          ->Arg(1024)
          ->Arg(4096)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
