#pragma once

#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/nccl_constants.hpp"

namespace gradwire {

class Cluster;
class NodeGraph;

/// Where one resource of a machine leads.
struct HostPlace {
  bool at_bridge = false;   ///< one of its ends is a host bridge
  bool of_amd = false;      ///< in an AMD machine, whose bridges pass stores between GPUs whole
  bool to_memory = false;   ///< it ends in host memory
  bool at_gpu = false;      ///< one of its ends is a GPU
  bool ends_peers = false;  ///< devices that meet over it do not reach each other's memory
  BytesPerSecond staged{};  ///< NodeGraph::staged_bandwidth of the machine; 0: not stated
};

/// Bytes that one of a GPU's stores into another's memory counts as where it passes there: Intel's
/// bridges cut them.
[[nodiscard]] double store_overhead(const HostPlace& place, const NcclConstants& constants);

/// Of each resource. A machine without NUMA nodes has its memory behind its host bridges.
[[nodiscard]] std::vector<HostPlace> host_places(const NodeGraph& node);

/// Where each link of a cluster's machines leads.
class HostPlaces {
 public:
  explicit HostPlaces(const Cluster& cluster);

  /// REQUIRES: 0 <= link < size().
  [[nodiscard]] const HostPlace& operator[](LinkId link) const {
    return places_[static_cast<std::size_t>(link) % places_.size()];
  }
  /// How many links machines have.
  [[nodiscard]] LinkId size() const { return size_; }
  /// Do devices meet anywhere that do not reach each other's memory?
  [[nodiscard]] bool end_peers() const;

 private:
  std::vector<HostPlace> places_;  ///< of the first machine where all are of its type, else of all
  LinkId size_ = 0;
};

/// What a pattern's flows do through host memory: between GPUs without peer access, and between a
/// GPU and a port without GPUDirect (NCCL, src/transport/shm.cc and net.cc). The sender's kernel
/// stores into a buffer that the receiver's kernel loads from, or that a NIC reads or writes.
struct StagedFlows {
  std::vector<double> load;  ///< [link]: bytes of such flows that kernels move / size
  /// [link]: the same as counts in the link's time, in bytes that peers would move over it.
  std::vector<double> priced;
  /// [link]: bytes of lines that are fetched before they are stored / size. NCCL does not plan
  /// them.
  std::vector<double> fetched;
  /// No flow does: the above are empty.
  [[nodiscard]] bool empty() const { return load.empty(); }
  /// That a byte takes between a GPU and host memory, at both ends of a message to another machine.
  Seconds network_per_byte;
};

/// @param constants  what peers get of a link at a host bridge, GPUs and ports: host memory gives
///                   no more
[[nodiscard]] StagedFlows staged_flows(const Cluster& cluster, const Pattern& pattern,
                                       const HostPlaces& places, const NcclConstants& constants);

}  // namespace gradwire
