#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/cluster.hpp"

namespace gradwire::test {

/// NVLinks between the GPUs of a DGX-1 with V100 (`nvidia-smi topo -m`; 6 lanes a GPU).
using LaneTable = std::array<std::array<int, 8>, 8>;
constexpr LaneTable dgx1v_lanes = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                    {1, 0, 2, 1, 0, 2, 0, 0},
                                    {1, 2, 0, 2, 0, 0, 1, 0},
                                    {2, 1, 2, 0, 0, 0, 0, 1},
                                    {2, 0, 0, 0, 0, 1, 1, 2},
                                    {0, 2, 0, 0, 1, 0, 2, 1},
                                    {0, 0, 1, 0, 1, 2, 0, 2},
                                    {0, 0, 0, 1, 2, 1, 2, 0}}};

/// One lane of NVLink 2, what 2 GPUs reach over it with 1 GiB (vTrain: 22.55 GB/s).
constexpr double lane_rate = 22.5e9;
constexpr double pcie_rate = 12e9;
constexpr Seconds nvlink_latency{0.7e-6};
constexpr Seconds pcie_latency{0.3e-6};

inline Link pcie() {
  return {LinkKind::pcie, BytesPerSecond{pcie_rate}, pcie_latency, 1};
}
inline Link nvlink(int lanes) {
  return {LinkKind::nvlink, BytesPerSecond{lanes * lane_rate}, nvlink_latency, lanes};
}

/// Two GPUs on two switches, one NIC beside gpu0.
inline std::shared_ptr<const NodeGraph> far_gpu_node(bool nvlinked) {
  NodeGraph node;
  const DeviceId root = node.add({.kind = DeviceKind::numa});
  for (int gpu = 0; gpu < 2; ++gpu) {
    const DeviceId at = node.add({.kind = DeviceKind::pcie_switch});
    node.connect(at, root, pcie());
    node.connect(node.add({.kind = DeviceKind::gpu}), at, pcie());
    if (gpu == 0) node.connect(node.add({.kind = DeviceKind::nic}), at, pcie());
  }
  if (nvlinked) node.connect(node.gpus()[0], node.gpus()[1], nvlink(2));
  return std::make_shared<const NodeGraph>(std::move(node));
}

/// GPUs in pairs on PCIe switches, the switches on two processors, `nics_per_switch` NICs on each
/// switch: NIC k is nearest to GPUs 2k and 2k+1 when there is one. No NVLink.
inline NodeGraph pcie_node(int gpus, int nics_per_switch) {
  NodeGraph node;
  node.name = "pcie";
  const DeviceId left = node.add({.kind = DeviceKind::numa});
  const DeviceId right = node.add({.kind = DeviceKind::numa});
  node.connect(left, right, {LinkKind::smp, BytesPerSecond{10e9}, Seconds{0.5e-6}, 1});
  DeviceId pcie_switch = left;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    if (gpu % 2 == 0) {
      pcie_switch = node.add({.kind = DeviceKind::pcie_switch});
      node.connect(pcie_switch, gpu < (gpus + 1) / 2 ? left : right, pcie());
      for (int nic = 0; nic < nics_per_switch; ++nic) {
        node.connect(node.add({.kind = DeviceKind::nic}), pcie_switch, pcie());
      }
    }
    node.connect(node.add({.kind = DeviceKind::gpu}), pcie_switch, pcie());
  }
  return node;
}

inline std::shared_ptr<const NodeGraph> dgx1v() {
  auto node = std::make_shared<NodeGraph>(pcie_node(8, 1));
  node->name = "dgx1v";
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = a + 1; b < 8; ++b) {
      const int lanes = dgx1v_lanes[a][b];
      if (lanes > 0) node->connect(node->gpus()[a], node->gpus()[b], nvlink(lanes));
    }
  }
  return node;
}

/// 8 GPUs with 12 lanes each into one NVSwitch, a NIC a pair of GPUs.
inline std::shared_ptr<const NodeGraph> nvswitch_node() {
  auto node = std::make_shared<NodeGraph>(pcie_node(8, 1));
  const DeviceId hub = node->add({.kind = DeviceKind::nvswitch});
  for (const DeviceId gpu : node->gpus()) node->connect(gpu, hub, nvlink(12));
  return node;
}

/// Machines on one switch, a port of 12.07 GB/s (EDR) and 0.5 us for each NIC.
inline Cluster cluster_of(const std::vector<std::shared_ptr<const NodeGraph>>& nodes) {
  Fabric fabric;
  fabric.kind = "single_switch";
  fabric.port = {"ib_edr", "ib", BytesPerSecond{12.07e9}, Seconds{0.5e-6}};
  const auto hub = fabric.add_switch("switch");
  for (const auto& node : nodes) {
    for (std::size_t nic = 0; nic < node->nics().size(); ++nic) fabric.attach(hub);
  }
  return {nodes, std::move(fabric)};
}

inline Cluster dgx1v_cluster(int nodes) {
  return cluster_of(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(nodes), dgx1v()));
}

/// These GPUs of node 0.
inline Placement on_node0(std::initializer_list<int> gpus) {
  Placement placement;
  for (const int gpu : gpus) placement.push_back({0, gpu});
  return placement;
}

}  // namespace gradwire::test
