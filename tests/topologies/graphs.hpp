#pragma once

#include <algorithm>
#include <string>

#include "sim/config/cluster/node_yaml.hpp"
#include "sim/core/node_graph.hpp"
#include "tests/catch.hpp"

namespace gradwire::test {

inline int count(const NodeGraph& node, DeviceKind kind) {
  const auto devices = node.graph().vertices();
  return static_cast<int>(std::count_if(devices.begin(), devices.end(),
                                        [&](DeviceId id) { return node.device(id).kind == kind; }));
}

/// The way between two devices by name, as names of resources.
inline std::vector<std::string> way(const NodeGraph& node, const std::string& from,
                                    const std::string& to) {
  std::vector<std::string> names;
  for (const int id : node.route(node.find(from).value(), node.find(to).value())) {
    names.push_back(node.resources()[static_cast<std::size_t>(id)].name);
  }
  return names;
}

/// NVLinks of a GPU: those into a switch, or the sum over its peers.
inline int lanes_of_gpu(const NodeGraph& node, DeviceId gpu) {
  int lanes = 0;
  for (const auto& edge : node.graph().out_edges(gpu)) {
    if (node.graph()[edge].kind == LinkKind::nvlink) lanes += node.graph()[edge].lanes;
  }
  return lanes;
}

/// Written as YAML and read again it is the same graph: devices, links, rates, latencies.
inline void check_round_trip(const NodeGraph& node) {
  const std::string text = config::write_node(node);
  const NodeGraph back = config::read_node(config::parse_yaml(text, "n.yaml"));
  CHECK(back.name == node.name);
  CHECK(back.source == node.source);
  REQUIRE(back.graph().vertices().size() == node.graph().vertices().size());
  for (const DeviceId id : node.graph().vertices()) {
    const Device& device = node.device(id);
    const Device& other = back.device(back.find(device.name).value());
    CHECK(other.kind == device.kind);
    CHECK(other.index == device.index);
    CHECK(other.model == device.model);
    CHECK(other.numa == device.numa);
  }
  REQUIRE(back.resources().size() == node.resources().size());
  for (std::size_t i = 0; i < node.resources().size(); ++i) {
    const auto& a = node.resources()[i];
    const auto& b = back.resources()[i];
    INFO(a.name);
    CHECK(b.name == a.name);
    CHECK(b.kind == a.kind);
    CHECK(b.lanes == a.lanes);
    CHECK(b.bandwidth.count() ==
          Approx(a.bandwidth.count()).epsilon(1e-5));  // 6 digits are written
    CHECK(b.latency.count() == Approx(a.latency.count()).epsilon(1e-5));
  }
  CHECK(config::write_node(back) == text);
}

}  // namespace gradwire::test
