#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/core/cluster.hpp"

namespace gradwire::test {

/// Fast enough never to be the bottleneck beside `test_port`.
constexpr double inside_rate = 100e9;

/// `gpus` GPUs joined each to each by NVLink, each with a NIC of its own (gpu i nearest to nic i),
/// or with no NVLink. No latency anywhere.
inline std::shared_ptr<const NodeGraph> gpus_with_nics(int gpus, bool nvlink = true) {
  auto node = std::make_shared<NodeGraph>();
  node->name = "box";
  const DeviceId root = node->add({.kind = DeviceKind::host_bridge});
  const Link pcie{LinkKind::pcie, BytesPerSecond{inside_rate}, Seconds{1e-7}, 1};
  for (int i = 0; i < gpus; ++i) {
    const DeviceId hub = node->add({.kind = DeviceKind::pcie_switch});
    node->connect(hub, root, pcie);
    node->connect(node->add({.kind = DeviceKind::gpu}), hub, pcie);
    node->connect(node->add({.kind = DeviceKind::nic}), hub, pcie);
  }
  for (std::size_t a = 0; nvlink && a < node->gpus().size(); ++a) {
    for (std::size_t b = a + 1; b < node->gpus().size(); ++b) {
      node->connect(node->gpus()[a], node->gpus()[b],
                    {LinkKind::nvlink, BytesPerSecond{inside_rate}, Seconds{1e-7}, 4});
    }
  }
  return node;
}

inline PortSpec test_port() {
  return {"test", "ib", BytesPerSecond{1e9}, Seconds{}};
}
inline Link test_trunk() {
  return {LinkKind::network, BytesPerSecond{1e9}, Seconds{}, 1};
}
inline std::vector<PortGroup> machines(int count, int nics) {
  return {{count, nics, test_port()}};
}

/// Trunks (one direction) whose ends lie in two parts of the switches.
template <class InFirstPart>
int trunks_across(const Fabric& fabric, InFirstPart in_first_part) {
  int across = 0;
  for (const auto& edge : fabric.graph().edges()) {
    const bool from = in_first_part(edge.source);
    const bool to = in_first_part(edge.target);
    across += from && !to ? 1 : 0;
  }
  return across;
}

}  // namespace gradwire::test
