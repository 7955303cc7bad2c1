#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/train/training.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/none.hpp"

namespace gradwire::test {

/// Every collective takes this long alone, whatever its size.
class FixedCost final : public CostModel {
 public:
  explicit FixedCost(double seconds) : seconds_(seconds) {}
  [[nodiscard]] CollectiveCost price(const Pattern& /*pattern*/, Bytes /*size*/) const override {
    CollectiveCost cost;
    cost.uncontended = Seconds{seconds_};
    cost.source = "fit";
    return cost;
  }

 private:
  double seconds_;
};

/// Latency a step and a start-up, as a library has them; the bytes take what the links allow.
class StepCost final : public CostModel {
 public:
  [[nodiscard]] CollectiveCost price(const Pattern& /*pattern*/, Bytes /*size*/) const override {
    CollectiveCost cost;
    cost.startup = Seconds{5e-6};
    cost.hop_nvlink = Seconds{3e-6};
    cost.source = "model";
    return cost;
  }
};

/// Three layers of one small tensor each: forward 1, 2, 3 ms, backward 2, 4, 6 ms, optimizer 1 ms,
/// 2 ms between iterations: 21 ms in all.
inline ComputeProfile toy_profile() {
  ComputeProfile profile;
  profile.model = "toy";
  profile.batch_per_gpu = 8;
  profile.source.kind = "recorded";
  for (int i = 1; i <= 3; ++i) {
    LayerProfile layer;
    layer.name = "l" + std::to_string(i);
    layer.kind = "conv3";
    layer.forward = Seconds{i * 1e-3};
    layer.backward = Seconds{2 * i * 1e-3};
    layer.parameters.push_back({layer.name + ".w", {256}, {}});
    profile.layers.push_back(layer);
  }
  profile.optimizer = Seconds{1e-3};
  profile.iteration = Seconds{21e-3};
  profile.gradient_order = {2, 1, 0};
  return profile;
}

inline std::shared_ptr<NodeGraph> pair_node(int gpus) {
  auto node = std::make_shared<NodeGraph>();
  node->name = "toy";
  std::vector<DeviceId> ids;
  for (int i = 0; i < gpus; ++i) ids.push_back(node->add({.kind = DeviceKind::gpu}));
  for (std::size_t a = 0; a < ids.size(); ++a) {
    for (std::size_t b = a + 1; b < ids.size(); ++b) {
      node->connect(ids[a], ids[b], {LinkKind::nvlink, BytesPerSecond{20e9}, Seconds{1e-6}, 1});
    }
  }
  return node;
}

struct Fixture {
  ComputeProfile profile = toy_profile();
  GpuSpec gpu;
  Cluster cluster;
  Placement placement;
  StrategyFactory strategy;
  std::shared_ptr<const CostModel> cost;
  EngineOptions engine;
  JitterSpec jitter;
  std::vector<StragglerSpec> stragglers;
  int micro_batches = 1;
  const WorkerClasses* classes = nullptr;
  std::uint64_t seed = 1;
  std::vector<int> servers;

  Fixture(int ranks, double collective_s, StrategyFactory factory)
      : cluster({pair_node(ranks)}, Fabric{}),
        placement(packed_placement(cluster, ranks)),
        strategy(std::move(factory)),
        cost(std::make_shared<FixedCost>(collective_s)) {
    gpu.memory_bandwidth = BytesPerSecond{900e9};
    gpu.memory_efficiency = 1;
    gpu.kernel_overhead = Seconds{10e-6};
  }

  [[nodiscard]] RingLibrary library() const { return {{std::shared_ptr<void>(), &cluster}, cost}; }
  RunResult run(bool spans = false) const { return simulate(job(library(), spans)); }
  [[nodiscard]] Job job(const CollectiveLibrary& library, bool spans = false) const {
    return Job{.profile = profile,
               .gpu = gpu,
               .cluster = cluster,
               .placement = placement,
               .make_strategy = strategy,
               .library = library,
               .jitter = jitter,
               .stragglers = stragglers,
               .run = {.iterations = 4, .warmup = 1, .seed = seed, .start_apart = false},
               .engine = engine,
               .micro_batches = micro_batches,
               .record_spans = spans,
               .classes = classes,
               .servers = servers};
  }
};

template <class T>
StrategyFactory factory() {
  return [](const JobView& job) { return std::make_unique<T>(job); };
}
inline StrategyFactory none() {
  return [](const JobView&) { return std::make_unique<NoCommunication>(); };
}
inline StrategyFactory ddp(const DdpOptions& options) {
  return [options](const JobView& job) { return std::make_unique<Ddp>(options, job); };
}

inline double sum(const Breakdown& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}
inline double part(const RunResult& result, Part which) {
  return result.breakdown[static_cast<std::size_t>(which)];
}

/// 256 floats read and written by a kernel of the fixture's GPU: 10 us + 2048 B / 900 GB/s.
constexpr double one_copy = 10e-6 + 2048 / 900e9;

}  // namespace gradwire::test
