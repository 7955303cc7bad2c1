#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/index.hpp"
#include "sim/core/node_graph.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// All local routes of one node type, computed once: GPU -> GPU, GPU -> NIC and NIC -> GPU end to
/// end, directly and through host memory. Links are numbered as the node's resources.
struct Cluster::Routes {
  explicit Routes(const NodeGraph& node);

  [[nodiscard]] int gpus() const { return gpus_; }
  [[nodiscard]] int nics() const { return nics_; }
  /// The node's resources.
  [[nodiscard]] const std::vector<ClusterLink>& links() const { return own_; }

  // Each appends a way, the node's first link being number `offset` of the cluster.
  /// @param staged  through host memory, whatever else there is.
  void append_gpu_to_gpu(int from, int to, bool staged, LinkId offset,
                         std::vector<LinkId>& path) const;
  void append_gpu_to_nic(int gpu, int nic, bool staged, LinkId offset,
                         std::vector<LinkId>& path) const;
  void append_nic_to_gpu(int nic, int gpu, bool staged, LinkId offset,
                         std::vector<LinkId>& path) const;
  void append_gpu_to_host(int gpu, LinkId offset, std::vector<LinkId>& path) const;
  void append_host_to_gpu(int gpu, LinkId offset, std::vector<LinkId>& path) const;
  void append_nic_to_host(int nic, LinkId offset, std::vector<LinkId>& path) const;
  void append_host_to_nic(int nic, LinkId offset, std::vector<LinkId>& path) const;

  /// REQUIRES: the node has a NIC.
  [[nodiscard]] int nearest_nic(int gpu) const { return nearest_nic_[at(gpu)]; }
  [[nodiscard]] int nearest_gpu(int nic) const { return nearest_gpu_[at(nic)]; }
  /// Whether NVLink joins two GPUs directly. REQUIRES: the node has a NIC.
  [[nodiscard]] bool nvlink(int from, int to) const { return nvlink_[at(from * gpus_ + to)]; }
  /// Of a GPU, to and from host memory.
  [[nodiscard]] BytesPerSecond copy_rate(int gpu) const { return copy_rate_[at(gpu)]; }

 private:
  [[nodiscard]] int gpu_to_gpu(int from, int to) const { return from * gpus_ + to; }
  [[nodiscard]] int gpu_to_nic(int gpu, int nic) const { return gpus_ * gpus_ + gpu * nics_ + nic; }
  [[nodiscard]] int nic_to_gpu(int nic, int gpu) const {
    return gpus_ * gpus_ + gpus_ * nics_ + nic * gpus_ + gpu;
  }
  /// Added to a path's number: the same ends through host memory.
  [[nodiscard]] int through_host(bool staged) const {
    return staged ? gpus_ * gpus_ + 2 * gpus_ * nics_ : 0;
  }
  /// The GPU from which the path to the NIC takes least time; the first of them.
  [[nodiscard]] int gpu_next_to(int nic) const;
  /// Appends path number `path`.
  void append(int path, LinkId offset, std::vector<LinkId>& out) const;

  int gpus_;
  int nics_;
  std::vector<ClusterLink> own_;
  std::vector<LinkId> links_;
  /// Path k is links_[begin_[k], begin_[k + 1]): GPU to GPU, to NIC, from NIC, and the same three
  /// through host memory.
  std::vector<std::size_t> begin_{0};
  /// Of GPUs, then of NICs: to the host memory and from there.
  std::vector<std::vector<int>> to_host_;
  std::vector<std::vector<int>> from_host_;
  std::vector<int> nearest_nic_;           ///< of each GPU; empty when there is no NIC
  std::vector<int> nearest_gpu_;           ///< of each NIC
  std::vector<bool> nvlink_;               ///< [from * gpus + to]: joined directly
  std::vector<BytesPerSecond> copy_rate_;  ///< of each GPU
};

}  // namespace gradwire
