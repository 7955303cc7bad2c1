#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/random.hpp"

namespace gradwire::test {

/// What to change of a random cluster, all else equal.
struct Scaling {
  double bandwidth = 1;  ///< of every link
  double latency = 1;    ///< of every link
  double port_bandwidth = 1;
  double port_latency = 1;
};

/// Draws in order from a seed.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  /// In [0, 1).
  double unit() { return static_cast<double>(absorb(absorb(0, seed_), ++drawn_) >> 11U) * 0x1p-53; }
  int between(int low, int high) {  ///< both included
    return low + static_cast<int>(unit() * (high - low + 1));
  }
  double between(double low, double high) { return low + unit() * (high - low); }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

/// Machines with 1 to 4 GPUs on PCIe, some of them with NVLinks or an NVSwitch, 1 or 2 NICs, on one
/// switch or on leaves below one or two spines; every rate and latency is drawn, trunks may be
/// oversubscribed. 2 to 14 ranks, each machine full.
struct RandomCluster {
  std::shared_ptr<const Cluster> cluster;
  Placement members;
};

inline std::shared_ptr<const NodeGraph> random_node(Draws& draws, const Scaling& scaling) {
  const auto link = [&](LinkKind kind, double low, double high, int lanes = 1) {
    const BytesPerSecond rate{draws.between(low, high) * scaling.bandwidth};
    return Link{kind, rate, Seconds{draws.between(0.1e-6, 2e-6) * scaling.latency}, lanes};
  };
  auto node = std::make_shared<NodeGraph>();
  const DeviceId root = node->add({.kind = DeviceKind::numa});
  const int gpus = draws.between(1, 4);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    node->connect(node->add({.kind = DeviceKind::gpu}), root, link(LinkKind::pcie, 5e9, 30e9));
  }
  const int nics = draws.between(1, 2);
  for (int nic = 0; nic < nics; ++nic) {
    node->connect(node->add({.kind = DeviceKind::nic}), root, link(LinkKind::pcie, 5e9, 30e9));
  }
  const int joined = draws.between(0, 2);  // 0: PCIe alone
  if (joined == 1) {
    for (std::size_t gpu = 1; gpu < node->gpus().size(); ++gpu) {
      node->connect(node->gpus()[gpu - 1], node->gpus()[gpu],
                    link(LinkKind::nvlink, 20e9, 100e9, 2));
    }
  } else if (joined == 2 && gpus > 1) {
    const DeviceId hub = node->add({.kind = DeviceKind::nvswitch});
    for (const DeviceId gpu : node->gpus()) {
      node->connect(gpu, hub, link(LinkKind::nvlink, 100e9, 300e9, 6));
    }
  }
  return node;
}

inline RandomCluster random_cluster(std::uint64_t seed, const Scaling& scaling = {}) {
  Draws draws(seed);
  const int machines = draws.between(1, 4);
  std::vector<std::shared_ptr<const NodeGraph>> nodes;
  const bool is_mixed = draws.between(0, 1) == 1;
  for (int machine = 0; machine < machines; ++machine) {
    nodes.push_back(machine == 0 || is_mixed ? random_node(draws, scaling) : nodes.front());
  }
  Fabric fabric;
  fabric.port = {
      "port", "ib",
      BytesPerSecond{draws.between(1e9, 25e9) * scaling.bandwidth * scaling.port_bandwidth},
      Seconds{draws.between(0.5e-6, 5e-6) * scaling.latency * scaling.port_latency}};
  const int leaves = draws.between(1, 2);
  const int spines = leaves == 1 ? 0 : draws.between(1, 2);
  std::vector<Fabric::SwitchId> ids;
  for (int i = 0; i < leaves + spines; ++i)
    ids.push_back(fabric.add_switch("s" + std::to_string(i)));
  for (int leaf = 0; leaf < leaves; ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      fabric.connect(
          ids[static_cast<std::size_t>(leaf)], ids[static_cast<std::size_t>(leaves + spine)],
          {LinkKind::network, BytesPerSecond{draws.between(1e9, 50e9) * scaling.bandwidth},
           Seconds{draws.between(0.1e-6, 1e-6) * scaling.latency}, 1});
    }
  }
  std::vector<int> gpus;
  int ranks = 0;
  for (int machine = 0; machine < machines; ++machine) {
    const auto& node = nodes[static_cast<std::size_t>(machine)];
    for (std::size_t nic = 0; nic < node->nics().size(); ++nic) {
      fabric.attach(ids[static_cast<std::size_t>(machine % leaves)]);
    }
    gpus.push_back(static_cast<int>(node->gpus().size()));
    ranks += gpus.back();
  }
  if (ranks < 2) return random_cluster(absorb(seed, 1), scaling);
  return {std::make_shared<const Cluster>(std::move(nodes), std::move(fabric)),
          draws.between(0, 1) == 0 ? packed_placement(gpus) : round_robin_placement(gpus)};
}

}  // namespace gradwire::test
