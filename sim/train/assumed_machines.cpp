#include "sim/train/assumed_machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/collectives/machines.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

/// A machine whose ranks reach each other's memory through a host that nobody has measured; null:
/// none.
const NodeGraph* of_assumed_staging(const Job& job) {
  if (!job.library.on_gpu()) return nullptr;
  std::vector<const NodeGraph*> seen;
  for (const int machine : nodes_of(job.placement)) {
    const NodeGraph* node = &job.cluster.node(machine);
    if (node->staged_bandwidth || std::ranges::find(seen, node) != seen.end()) continue;
    seen.push_back(node);
    if (!are_peers(job, machine)) return node;
  }
  return nullptr;
}

}  // namespace

bool talks_over_tcp(const Job& job) {
  const auto& ports = job.cluster.fabric().port_specs();
  return job.cluster.node_count() > 1 &&
         std::ranges::any_of(ports, [](const PortSpec& port) { return port.kind == "tcp"; });
}

const NodeGraph* of_assumed_ports(const Job& job) {
  if (job.cluster.node_count() == 1 || talks_over_tcp(job)) return nullptr;
  for (int index = 0; index < job.cluster.node_count(); ++index) {
    const NodeGraph& node = job.cluster.node(index);
    if (node.ports_vary && node.nics().size() > 1) return &node;
  }
  return nullptr;
}

void warn_of_assumed(const Job& job, RunResult& result) {
  if (result.doubts.empty()) return;
  const std::string& widest = result.doubts.front().name;
  if (widest == "ports") {
    const NodeGraph& node = *of_assumed_ports(job);
    result.warnings.push_back(
        {"ports-assumed",
         fmt::format("machines of type '{}' are taken to have {} ports, but are built with fewer, "
                     "too, and this job's time hangs on them: state links_per_node",
                     node.name, node.nics().size())});
  }
  if (widest != "communication" && widest != "hidden_communication") return;
  if (const NodeGraph* staging = of_assumed_staging(job)) {
    result.warnings.push_back(
        {"staging-assumed",
         fmt::format("GPUs of '{}' exchange through host memory, which hosts carry at a sixth to "
                     "two thirds of a GPU's link; a third is taken, and this job's time hangs on "
                     "it: state staged_bandwidth, the bus bandwidth of nccl-tests on two GPUs",
                     staging->name)});
  }
}

}  // namespace gradwire
