#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/node_graph.hpp"
#include "topologies/links.hpp"

namespace gradwire {

/// What an importer of nodes gives.
struct ImportedNode {
  NodeGraph node;
  std::vector<std::string> assumptions;  ///< what had to be guessed, one sentence each
};

/// Collects what an importer assumes: one sentence for all devices that it holds for.
class Told {
 public:
  void add(const std::string& who, const std::string& what);
  /// "0:3b:00.0, 0:5e:00.0: link width 0 is taken as 16", in the order of the first.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> told_;  ///< what -> who
};

/// The NVLinks of a node as numbers; GPUs count from 0.
struct NvlinkLanes {
  std::vector<std::vector<int>> direct;  ///< [a][b]: lanes from GPU a to GPU b, symmetric
  std::vector<int> into_switch;          ///< lanes of each GPU into an NVSwitch

  explicit NvlinkLanes(std::size_t gpus = 0)
      : direct(gpus, std::vector<int>(gpus)), into_switch(gpus) {}
  [[nodiscard]] bool any() const;
  [[nodiscard]] bool has_switch() const;
  /// Lanes of one GPU, direct and into the switch.
  [[nodiscard]] int of(std::size_t gpu) const;
};

/// Lookups of the names that a user may give, for the importers' options.
/// @throws ConfigError in `file` that lists what is known, with the nearest name.
[[nodiscard]] const GpuWires& require_gpu(const LinkTables& links, const std::string& model,
                                          const std::string& file);
[[nodiscard]] const PortKind& require_port(const LinkTables& links, const std::string& kind,
                                           const std::string& file);
[[nodiscard]] const WireKind& require_socket_link(const LinkTables& links, const std::string& cpu,
                                                  const std::string& file);

/// Joins a device to what is above it in the PCIe tree.
void connect_slot(NodeGraph& node, DeviceId lower, DeviceId upper, BytesPerSecond bandwidth,
                  Seconds latency);
/// Joins every two NUMA nodes; a pair is as fast as the slower socket's link, per NUMA node.
void join_sockets(NodeGraph& node, const std::vector<DeviceId>& numas,
                  const std::vector<BytesPerSecond>& bandwidths, Seconds latency);
/// Connects the node's GPUs, whose models are set, by their NVLinks: to each other, and to
/// `nvswitch` when there are lanes into it. A pair runs at the slower GPU's rate.
/// REQUIRES: a model with NVLink for every GPU that has lanes.
void add_nvlinks(const LinkTables& links, NodeGraph& node, const NvlinkLanes& lanes,
                 DeviceId nvswitch);
/// @throws ConfigError in `file` when a GPU has more lanes than its model.
void check_lanes(const LinkTables& links, const NodeGraph& node, const NvlinkLanes& lanes,
                 const std::string& file);

/// @throws ConfigError in `file` unless each of `names` is one of `known`, with the nearest.
void require_known(const std::vector<std::string>& names, const std::vector<std::string>& known,
                   const std::string& what, const std::string& file);

}  // namespace gradwire
