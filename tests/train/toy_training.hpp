#pragma once

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/train/training.hpp"
#include "tests/catch.hpp"
#include "topologies/builders/fabrics.hpp"

namespace gradwire::test {

/// Seconds of a collective alone: 0.5 ms and 1 ms a MB of an all-reduce, half of that a MB of the
/// others (they are halves of one), whoever takes part.
class AlphaBeta final : public CostModel {
 public:
  explicit AlphaBeta(double slower = 1) : slower_(slower) {}
  [[nodiscard]] CollectiveCost price(const Pattern& pattern, Bytes size) const override {
    const double per_byte = pattern.kind == CollectiveKind::all_reduce ? 1e-9 : 0.5e-9;
    CollectiveCost cost;
    cost.uncontended = Seconds{slower_ * (0.5e-3 + per_byte * static_cast<double>(size.count()))};
    cost.source = "model";
    return cost;
  }

 private:
  double slower_;
};

/// Six layers, each forward 1 ms, backward 2 ms, one tensor of 1 MB, a block of its own; optimizer
/// 1 ms, launched ahead (an executor); nothing between iterations: 6 + 12 + 1 = 19 ms. Elementwise
/// kernels take no time, and links are so fast that collectives never disturb each other.
///
/// In backward the gradient of layer 5 is there after 2 ms, then one every 2 ms.
struct ToyTraining {
  ComputeProfile profile;
  GpuSpec gpu;
  Cluster cluster;
  Placement placement;
  std::shared_ptr<const CostModel> cost = std::make_shared<AlphaBeta>();
  EngineOptions engine;
  int micro_batches = 1;
  std::vector<int> servers;  ///< machine of each
  int warmup = 1;
  int iterations = 4;
  bool all_phases = false;

  /// Machines of `gpus` ranks each. @param rate  of every link.
  explicit ToyTraining(int gpus = 4, int machines = 1, BytesPerSecond rate = fast)
      : ToyTraining(gpus, machines, rate, rate, 0) {}

  /// The same with a network of its own rate; links inside machines take no time.
  /// @param server_machines  behind those with ranks, a parameter server on each.
  static ToyTraining networked(int gpus, int machines, BytesPerSecond network,
                               int server_machines = 0) {
    return {gpus, machines, fast, network, server_machines};
  }

  /// Milliseconds of each measured iteration.
  [[nodiscard]] std::vector<double> run(const StrategyFactory& strategy) const {
    std::vector<double> times;
    for (const double t : simulate(job(strategy, library())).iteration_s) times.push_back(1e3 * t);
    return times;
  }

  [[nodiscard]] RingLibrary library() const { return {{std::shared_ptr<void>(), &cluster}, cost}; }
  [[nodiscard]] Job job(const StrategyFactory& strategy, const CollectiveLibrary& library) const {
    return {.profile = profile,
            .gpu = gpu,
            .cluster = cluster,
            .placement = placement,
            .make_strategy = strategy,
            .library = library,
            .jitter = {},
            .stragglers = {},
            .run = {.iterations = iterations,
                    .warmup = warmup,
                    .seed = 1,
                    .all_phases = all_phases,
                    .start_apart = false},
            .engine = engine,
            .micro_batches = micro_batches,
            .servers = servers};
  }

 private:
  static constexpr BytesPerSecond fast{1e13};

  ToyTraining(int gpus, int machines, BytesPerSecond rate, BytesPerSecond network,
              int server_machines)
      : cluster(nodes(gpus, machines + server_machines, rate),
                fabric(machines + server_machines, network)),
        placement(packed_placement(std::vector<int>(static_cast<std::size_t>(machines), gpus))) {
    for (int server = 0; server < server_machines; ++server) servers.push_back(machines + server);
    profile.model = "toy";
    profile.batch_per_gpu = 8;
    profile.source.kind = "recorded";
    profile.executor = true;
    for (int i = 0; i < 6; ++i) {
      LayerProfile layer;
      layer.name = fmt::format("h.{}", i);
      layer.kind = "linear";
      layer.forward = Seconds{1e-3};
      layer.backward = Seconds{2e-3};
      layer.parameters.push_back({fmt::format("h.{}.weight", i), {250'000}, {}});
      profile.layers.push_back(layer);
    }
    profile.optimizer = Seconds{1e-3};
    profile.iteration = Seconds{19e-3};
    profile.gradient_order = {5, 4, 3, 2, 1, 0};
    gpu.memory_bandwidth = BytesPerSecond{1e20};
    gpu.memory_efficiency = 1;
    gpu.kernel_overhead = Seconds{0};
  }

  static std::vector<std::shared_ptr<const NodeGraph>> nodes(int gpus, int machines,
                                                             BytesPerSecond rate) {
    auto node = std::make_shared<NodeGraph>();
    node->name = "toy";
    const DeviceId hub = node->add({.kind = DeviceKind::pcie_switch});
    node->connect(hub, node->add({.kind = DeviceKind::numa}),
                  {LinkKind::pcie, rate, Seconds{0}, 1});
    node->connect(node->add({.kind = DeviceKind::nic}), hub, {LinkKind::pcie, rate, Seconds{0}, 1});
    for (int i = 0; i < gpus; ++i) {
      node->connect(node->add({.kind = DeviceKind::gpu}), hub,
                    {LinkKind::pcie, rate, Seconds{0}, 1});
    }
    return std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(machines), node);
  }
  static Fabric fabric(int machines, BytesPerSecond rate) {
    PortSpec port;
    port.name = "toy";
    port.kind = "ib";
    port.bandwidth = rate;
    return single_switch(machines, port);
  }
};

template <class T>
StrategyFactory make() {
  return [](const JobView& job) { return std::make_unique<T>(job); };
}
template <class T, class Options>
StrategyFactory make(const Options& options) {
  return [options](const JobView& job) { return std::make_unique<T>(options, job); };
}

/// Hand calculations are exact; links inside machines take 0.1 us a MB.
constexpr double timeline_tolerance = 1e-4;

inline void check_each(const std::vector<double>& iterations, double expected) {
  REQUIRE_FALSE(iterations.empty());
  for (const double ms : iterations) CHECK(ms == Approx(expected).epsilon(timeline_tolerance));
}
inline void check(const std::vector<double>& iterations, const std::vector<double>& expected) {
  REQUIRE(iterations.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(iterations[i] == Approx(expected[i]).epsilon(timeline_tolerance));
  }
}

}  // namespace gradwire::test
