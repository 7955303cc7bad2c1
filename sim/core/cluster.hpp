#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/cluster_link.hpp"
#include "sim/core/fabric.hpp"
#include "sim/core/node_graph.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Machines joined by a fabric: the static description that planners and engines read.
///
/// LinkIds: each node's resources one node after the other, then for each port up and down, then
/// the trunks, then what both directions of a port share, for each port of less than full duplex.
/// Machines of the same type share one NodeGraph and its routes.
class Cluster {
 public:
  /// @param nodes   type of each machine; the same pointer means the same type.
  /// @param fabric  port p belongs to NIC (p mod ports-per-node) of node p / ports-per-node, where
  ///                ports-per-node is that node's NIC count; may have no port when there is 1 node.
  Cluster(std::vector<std::shared_ptr<const NodeGraph>> nodes, Fabric fabric);

  [[nodiscard]] int node_count() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] const NodeGraph& node(int index) const;
  /// The fabric's port of a NIC. REQUIRES: the node has it, and the fabric has ports.
  [[nodiscard]] int port_of(int node, int nic) const {
    return port_offset_[static_cast<std::size_t>(node)] + nic;
  }
  /// A machine's own links follow each other from this one on.
  [[nodiscard]] LinkId first_link(int node) const {
    return node_offset_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] ClusterLinks links() const { return {link_types_, *links_}; }
  /// "node1.gpu0->gpu1", "node0.nic2.up", "node0.nic2.both" (what its directions share)
  [[nodiscard]] std::string link_name(LinkId id) const;

  /// Appends the links between two GPUs of one machine.
  void append_local(int node, int from_gpu, int to_gpu, std::vector<LinkId>& path) const;
  /// Appends the links from a GPU through `nic_from` of its machine, the fabric and `nic_to`.
  /// Where the fabric has no way from `nic_from` (rails without a spine), the data leave by another
  /// NIC of the machine: the one numbered as `nic_to`, else the first that reaches it, else by a
  /// pair of other NICs; over NVLink to the GPU nearest to that NIC where there is a direct one and
  /// GPUs relay, else over PCIe.
  /// @throws SimulationError when no NIC of the machine reaches `nic_to`.
  void append_remote(GpuRef from, int nic_from, GpuRef to, int nic_to,
                     std::vector<LinkId>& path) const;
  /// Appends the way between two GPUs wherever they are; the nearest NICs are taken.
  void append_route(GpuRef from, GpuRef to, std::vector<LinkId>& path) const;
  /// Appends the way that a library without GPUDirect takes, whatever the ports could do: through
  /// the sender's host memory, and between machines over `nic` of both.
  /// @throws SimulationError as append_remote.
  void append_through_host(GpuRef from, GpuRef to, int nic, std::vector<LinkId>& path) const;
  /// Appends the way of a copy from a GPU to the host memory of its machine, and back.
  void append_to_host(GpuRef from, std::vector<LinkId>& path) const;
  void append_from_host(GpuRef to, std::vector<LinkId>& path) const;
  /// Appends the way from one host memory to another by `nic` of both machines (by the last one of
  /// a machine that has fewer); nothing within a machine.
  /// @throws SimulationError as append_remote, and when a machine has no NIC.
  void append_between_hosts(int node_from, int node_to, int nic, std::vector<LinkId>& path) const;
  /// What a GPU's copies to and from its host memory carry, one direction.
  [[nodiscard]] BytesPerSecond host_copy_bandwidth(GpuRef gpu) const;

  /// Two machines without any way between them, the first such pair; nothing when all are joined.
  [[nodiscard]] std::optional<std::pair<int, int>> separated() const;

  /// Whether GPUs send to a NIC through one that is nearer to it and that they have NVLink to, as
  /// NCCL does from 2.12 on (PXN; NVIDIA, Doubling all2all performance with NCCL 2.12, 2022). True
  /// at first.
  [[nodiscard]] bool gpus_relay() const { return gpus_relay_; }
  void set_gpus_relay(bool relay) { gpus_relay_ = relay; }

  /// Replaces the capacity of a link (a degraded NIC). @param factor of the present capacity, > 0.
  void degrade(LinkId id, double factor);
  /// The link of that name ("node1.nic0" names all of its port). Empty when there is none.
  [[nodiscard]] std::vector<LinkId> find_links(const std::string& name) const;

 private:
  struct Routes;  ///< all local routes of one node type, computed once

  /// The index of a type, a new one where there is none like it.
  std::uint32_t type_of(const ClusterLink& link);
  /// What a machine numbers as `nic`, and the last one where it has fewer.
  [[nodiscard]] int nic_or_last(int node, int nic) const;
  /// Appends a port, the fabric, and a port.
  void append_fabric(int port_from, int port_to, std::vector<LinkId>& path) const;
  /// As append_remote. @param staged  both ends go through host memory.
  void append_between(GpuRef from, int nic_from, GpuRef to, int nic_to, bool staged,
                      std::vector<LinkId>& path) const;
  /// Appends one direction of a port, and what it shares with the other one.
  void append_port(int port, bool up, std::vector<LinkId>& path) const;

  /// A NIC of each of two machines that reach each other: at the receiver `nic_to` where one does,
  /// else the next; at the sender the one of its number where that does.
  [[nodiscard]] std::pair<int, int> other_way(int node_from, int node_to, int nic_to) const;

  std::vector<std::shared_ptr<const NodeGraph>> nodes_;
  Fabric fabric_;
  std::vector<ClusterLink> link_types_;
  /// Index into link_types_. Copies of a cluster have the same, until one of them is degraded: a
  /// million GPUs have 25 MB.
  std::shared_ptr<std::vector<std::uint32_t>> links_;
  std::vector<LinkId> node_offset_;
  std::vector<int> port_offset_;
  LinkId port_links_ = 0;
  LinkId trunk_links_ = 0;
  LinkId duplex_links_ = 0;
  std::vector<int> half_duplex_ports_;  ///< rising; port k of them has link duplex_links_ + k
  std::vector<std::shared_ptr<const Routes>> routes_;
  bool gpus_relay_ = true;
};

}  // namespace gradwire
