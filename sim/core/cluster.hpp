#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/core/node_graph.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Index of a shared resource of the whole cluster (a direction of a link, or a device's transit).
using LinkId = std::int32_t;

/// Where a rank lives; nodes and GPUs count from 0.
struct GpuRef {
  int node = 0;
  int gpu = 0;
  auto operator<=>(const GpuRef&) const = default;
};

/// placement[rank] is the GPU of that rank.
using Placement = std::vector<GpuRef>;

/// One direction of a link, or a transit limit, as the engine sees it.
struct ClusterLink {
  double capacity = 0;  ///< payload bytes per second
  double latency = 0;   ///< seconds
  LinkKind kind = LinkKind::pcie;
};

/// The kind of network port on each NIC: what a fabric link gives, with its source.
struct PortSpec {
  std::string name;          ///< "ib_edr"
  std::string kind;          ///< tcp | roce | ib
  BytesPerSecond bandwidth;  ///< payload, one direction
  Seconds latency;           ///< NIC to switch or switch to NIC, one way
};

/// Network switches and the trunks between them, a Boost graph. Ports (NICs) hang on switches;
/// routes are found among switches only, so that cost does not follow the number of ports.
class Fabric {
 public:
  struct Switch {
    std::string name;
  };
  using SwitchGraph =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Switch, NumberedLink>;
  using SwitchId = SwitchGraph::vertex_descriptor;

  std::string kind;  ///< "single_switch"
  PortSpec port;

  SwitchId add_switch(std::string name);
  void connect(SwitchId a, SwitchId b, const Link& link);  ///< both directions
  /// Attaches the next port (ports are numbered in the order of the calls). @return its number.
  int attach(SwitchId at);

  [[nodiscard]] const SwitchGraph& graph() const { return graph_; }
  [[nodiscard]] int port_count() const { return static_cast<int>(port_switch_.size()); }
  [[nodiscard]] SwitchId switch_of(int port_index) const;
  /// Trunk indices (in edge order) from one switch to another; cached.
  [[nodiscard]] const std::vector<int>& trunks(SwitchId from, SwitchId to) const;

 private:
  SwitchGraph graph_;
  std::vector<SwitchId> port_switch_;
  mutable std::vector<std::vector<std::vector<int>>> cache_;
};

/// Machines joined by a fabric: the static description that planners and engines read.
///
/// LinkIds: each node's resources one node after the other, then for each port up and down, then
/// the trunks. Machines of the same type share one NodeGraph and its routes.
class Cluster {
 public:
  /// @param nodes   type of each machine; the same pointer means the same type.
  /// @param fabric  port p belongs to NIC (p mod ports-per-node) of node p / ports-per-node, where
  ///                ports-per-node is that node's NIC count; may have no port when there is 1 node.
  Cluster(std::vector<std::shared_ptr<const NodeGraph>> nodes, Fabric fabric);

  [[nodiscard]] int node_count() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] const NodeGraph& node(int index) const;
  [[nodiscard]] const std::shared_ptr<const NodeGraph>& node_type(int index) const;
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] std::span<const ClusterLink> links() const { return links_; }
  [[nodiscard]] std::string link_name(LinkId id) const;  ///< "node1.gpu0->gpu1", "node0.nic2.up"

  /// Appends the links between two GPUs of one machine.
  void append_local(int node, int from_gpu, int to_gpu, std::vector<LinkId>& path) const;
  /// Appends the links from a GPU through `nic_from` of its machine, the fabric and `nic_to`.
  void append_remote(GpuRef from, int nic_from, GpuRef to, int nic_to,
                     std::vector<LinkId>& path) const;
  /// Appends the way between two GPUs wherever they are; the nearest NICs are taken.
  void append_route(GpuRef from, GpuRef to, std::vector<LinkId>& path) const;

  /// Replaces the capacity of a link (a degraded NIC). @param factor of the present capacity, > 0.
  void degrade(LinkId id, double factor);
  /// The link of that name ("node1.nic0" names both directions). Empty when there is none.
  [[nodiscard]] std::vector<LinkId> find_links(const std::string& name) const;

 private:
  struct Routes;  ///< all local routes of one node type, computed once

  std::vector<std::shared_ptr<const NodeGraph>> nodes_;
  Fabric fabric_;
  std::vector<ClusterLink> links_;
  std::vector<LinkId> node_offset_;
  std::vector<int> port_offset_;
  LinkId port_links_ = 0;
  LinkId trunk_links_ = 0;
  std::vector<std::shared_ptr<const Routes>> routes_;
};

/// Ranks node by node, the first `gpus_per_node` GPUs of each.
[[nodiscard]] Placement packed_placement(const Cluster& cluster, int gpus_per_node);
/// Rank r on node r mod nodes.
[[nodiscard]] Placement round_robin_placement(const Cluster& cluster, int gpus_per_node);

}  // namespace gradwire
