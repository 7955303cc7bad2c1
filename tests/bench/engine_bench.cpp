// Reduction and the network's run phase on synthetic rings; whole iterations are measured
// elsewhere.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {
namespace {

constexpr int gpus_per_node = 8;
constexpr int channels = 4;
constexpr std::size_t nvlinks = 2 * std::size_t{gpus_per_node};
constexpr std::size_t ports = 2 * std::size_t{channels};
/// A node's links: NVLink out and in of each GPU; PCIe out and in, NIC up and down of each channel.
constexpr int node_links = 2 * gpus_per_node + 4 * channels;

struct Job {
  std::vector<ClusterLink> links;
  std::vector<Pattern> patterns;
};

/// Nodes of 8 GPUs with NVLink and 4 NICs, a channel of the ring through each NIC.
Job make_job(int ranks) {
  Job job;
  const int nodes = ranks / gpus_per_node;
  for (int node = 0; node < nodes; ++node) {
    job.links.insert(job.links.end(), nvlinks, {150e9, 0.5e-6, LinkKind::nvlink});
    job.links.insert(job.links.end(), ports, {16e9, 0.2e-6, LinkKind::pcie});
    job.links.insert(job.links.end(), ports, {12.5e9, 1e-6, LinkKind::network});
  }
  Pattern ring;
  ring.algorithm = "ring";
  ring.ranks = ranks;
  ring.channels = channels;
  Phase phase;
  phase.coupling = Coupling::ring;
  phase.steps = 2 * (ranks - 1);
  const double share = 2.0 * (ranks - 1) / ranks / channels;
  for (int channel = 0; channel < channels; ++channel) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int next = (rank + 1) % ranks;
      const int from = rank / gpus_per_node * node_links;
      const int to = next / gpus_per_node * node_links;
      const auto begin = static_cast<std::uint32_t>(ring.path_links.size());
      if (from == to) {
        const int out = (rank + 2 * channel) % gpus_per_node;
        const int in = (next + 2 * channel) % gpus_per_node;
        ring.path_links.insert(ring.path_links.end(), {from + 2 * out, to + 2 * in + 1});
      } else {
        const int port = 2 * gpus_per_node + 2 * channel;
        ring.path_links.insert(
            ring.path_links.end(),
            {from + port, from + port + 2 * channels, to + port + 2 * channels + 1, to + port + 1});
      }
      const auto end = static_cast<std::uint32_t>(ring.path_links.size());
      phase.flows.push_back({rank, next, share, channel, begin, end - begin});
    }
  }
  ring.phases.push_back(phase);
  job.patterns.push_back(ring);
  return job;
}

CollectiveCost ring_cost() {
  CollectiveCost cost;
  cost.startup = Seconds{10e-6};
  cost.hop_nvlink = Seconds{1e-6};
  cost.hop_network = Seconds{4e-6};
  return cost;
}

void reduce(benchmark::State& state, Job job) {
  while (state.KeepRunning()) {
    const FlowGraph graph = make_flow_graph(job.links, job.patterns);
    const Partition partition = refine(graph);
    benchmark::DoNotOptimize(make_quotient(graph, partition));
    state.counters["flows"] = static_cast<double>(graph.flow_count());
    state.counters["flow_classes"] = partition.flow_classes;
    state.counters["link_classes"] = partition.link_classes;
  }
}

void reduction(benchmark::State& state) {
  reduce(state, make_job(static_cast<int>(state.range(0))));
}

void reduction_with_slow_nic(benchmark::State& state) {
  Job job = make_job(static_cast<int>(state.range(0)));
  job.links[nvlinks + ports].capacity /= 3;
  reduce(state, std::move(job));
}

/// Three iterations of a model's collectives one after the other, with the engine's set-up.
void iterations(benchmark::State& state, const std::vector<std::int64_t>& sizes) {
  const Job job = make_job(static_cast<int>(state.range(0)));
  const CollectiveCost cost = ring_cost();
  while (state.KeepRunning()) {
    const auto engine = make_engine(job.links, job.patterns, {.fidelity = Fidelity::fluid});
    const auto count = static_cast<TransferId>(3 * sizes.size());
    const auto start = [&](TransferId id) {
      const auto size = sizes[static_cast<std::size_t>(id) % sizes.size()];
      engine->network().start(id, 0, Bytes{size}, cost);
    };
    start(0);
    engine->run([&](TransferId id, Seconds) {
      if (id + 1 < count) start(id + 1);
    });
    state.counters["simulated_s"] = engine->now().count();
  }
}

/// ResNet-50 in buckets of 25 MiB: floats of each, from PyTorch's reducer.
void resnet50_buckets(benchmark::State& state) {
  std::vector<std::int64_t> bytes{2049000, 7875584, 6563840, 6637568, 2431040};
  for (std::int64_t& size : bytes) size *= 4;
  iterations(state, bytes);
}

/// 161 collectives of 161 sizes, 102 MB together.
void tensors_161(benchmark::State& state) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 1; i <= 161; ++i) sizes.push_back(i * 4 * 1960);
  iterations(state, sizes);
}

/// Every message of a ring all-reduce, in messages per second.
void step_messages(benchmark::State& state) {
  Job job = make_job(static_cast<int>(state.range(0)));
  while (state.KeepRunning()) {
    const auto engine = make_engine(job.links, job.patterns, {.fidelity = Fidelity::step});
    engine->network().start(0, 0, Bytes{100'000'000}, ring_cost());
    engine->run([](TransferId, Seconds) {});
  }
  const auto& phase = job.patterns[0].phases[0];
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(phase.flows.size()) *
                          phase.steps);
}

BENCHMARK(reduction)->Arg(1024)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK(reduction_with_slow_nic)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);
// Few rounds: SimGrid 3.32 keeps the models of former engines, which slows later ones down.
constexpr int rounds = 3;
BENCHMARK(resnet50_buckets)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(65536)
    ->Iterations(rounds)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(tensors_161)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(65536)
    ->Iterations(rounds)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(step_messages)->Arg(16)->Arg(64)->Arg(128)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
