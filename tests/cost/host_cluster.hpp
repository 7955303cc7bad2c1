#pragma once

#include <memory>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/engine/engine.hpp"

namespace gradwire::test {

/// Machines of one NIC on one switch; inside them nothing takes time worth naming.
/// @param gpus  of each machine.
inline std::shared_ptr<const Cluster> host_cluster(int machines, const PortSpec& port,
                                                   int gpus = 1) {
  const auto node = std::make_shared<NodeGraph>();
  const Link slot{.kind = LinkKind::pcie, .bandwidth = BytesPerSecond{1e15}, .latency = {}};
  const DeviceId hub = node->add({.kind = DeviceKind::pcie_switch});
  for (int gpu = 0; gpu < gpus; ++gpu) {
    node->connect(node->add({.kind = DeviceKind::gpu}), hub, slot);
  }
  node->connect(node->add({.kind = DeviceKind::nic}), hub, slot);
  Fabric fabric;
  fabric.port = port;
  const auto network = fabric.add_switch("switch");
  for (int machine = 0; machine < machines; ++machine) fabric.attach(network);
  return std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>(static_cast<std::size_t>(machines), node),
      std::move(fabric));
}

/// Seconds until `count` equal collectives end that begin together. @param gpus  of each machine.
inline double time_of(const CollectiveLibrary& library, const Cluster& cluster, CollectiveKind kind,
                      Bytes size, int count = 1, Fidelity fidelity = Fidelity::fluid,
                      int gpus = 1) {
  const std::vector<Pattern> patterns = library.plan(kind, packed_placement(cluster, gpus));
  const auto engine = make_engine(cluster, patterns, {.fidelity = fidelity});
  const auto [pattern, cost] = library.choose(patterns, size);
  engine->at(Seconds{}, [&, at = pattern, price = cost] {
    for (int i = 0; i < count; ++i) {
      engine->network().start(i, static_cast<PatternId>(at), size, price);
    }
  });
  double end = 0;
  engine->run([&](TransferId /*id*/, Seconds now) { end = now.count(); });
  return end;
}

}  // namespace gradwire::test
