#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/link_graph.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// What a vertex of a node is; `numa` is a NUMA node with its cores and memory.
enum class DeviceKind : std::uint8_t { gpu, numa, host_bridge, pcie_switch, nvswitch, nic };

/// How far apart two devices on PCIe may be to reach each other's memory. NCCL's default is
/// pcie_switch (v2.28.9, src/graph/paths.cc: PATH_PXB in ncclTopoCheckP2p and ncclTopoCheckGdr).
enum class PeerToPeer : std::uint8_t {
  none,         ///< not at all: NVLink alone joins GPUs, and no NIC reaches their memory
  pcie_switch,  ///< only switches between them
  host_bridge,  ///< also one host bridge
  socket,       ///< also NUMA nodes and what joins processors
};

/// A vertex of a node: `index` counts devices of the same kind from 0 (gpu0, nic1, ...).
struct Device {
  std::string name{};
  DeviceKind kind = DeviceKind::gpu;
  int index = 0;
  /// What passes through this device shares this much (a host bridge); absent = no limit.
  std::optional<BytesPerSecond> transit{};
  std::string model{};  ///< GPU or NIC type, "" when unknown
  int numa = -1;        ///< NUMA node, -1 when unknown
  Hertz clock{0};       ///< of a GPU, that a cap lets it sustain; 0: that of its peaks
};

using DeviceGraph = LinkGraph<Device>;
using DeviceId = DeviceGraph::Vertex;

/// The memory of a machine's processors, all sockets together.
struct HostMemory {
  Bytes size{0};
  BytesPerSecond bandwidth{0};  ///< nominal: channels by their rate, reads and writes together
  std::string source{};
};

/// The inside of one machine: GPUs, NUMA nodes, host bridges, PCIe switches, NVLink, NICs.
///
/// A description only: it knows no rank and no other machine. Local resources are numbered
/// 0..resource_count()-1: the directed links first, then one for each device with a transit limit.
class NodeGraph {
 public:
  std::string name;
  std::string source;  ///< where the description comes from
  /// Between devices farther apart, data on PCIe go through host memory.
  PeerToPeer peer_to_peer = PeerToPeer::socket;
  /// What a GPU's kernels store to host memory and load from it at once, each way; absent: nobody
  /// has measured it (NcclMeasured::host_own_share).
  std::optional<BytesPerSecond> staged_bandwidth{};
  std::optional<HostMemory> host_memory{};  ///< absent: unknown
  /// Machines of the type have other numbers of ports, too, and nobody has stated these machines'.
  bool ports_vary = false;

  /// Adds a device and counts it (`index` is set here). An empty name becomes kind and index
  /// ("gpu0"). REQUIRES: the name is new.
  DeviceId add(Device device);
  /// Connects both directions with the same properties. REQUIRES: bandwidth > 0, latency >= 0.
  void connect(DeviceId a, DeviceId b, const Link& link);

  /// Puts another type of GPU or NIC in a device's place.
  void set_model(DeviceId id, std::string model) {
    graph_[id].model = std::move(model);
    graph_[id].clock = Hertz{0};
  }
  /// Caps a GPU.
  void set_clock(DeviceId id, Hertz clock) { graph_[id].clock = clock; }

  [[nodiscard]] const DeviceGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<DeviceId>& gpus() const { return gpus_; }
  [[nodiscard]] const std::vector<DeviceId>& nics() const { return nics_; }
  [[nodiscard]] const Device& device(DeviceId id) const { return graph_[id]; }
  [[nodiscard]] std::optional<DeviceId> find(const std::string& device_name) const;

  /// A shared resource of the node: one direction of a link, or a device's transit.
  struct Resource {
    std::string name;  ///< "gpu0->gpu1", "bridge0"
    LinkKind kind = LinkKind::pcie;
    BytesPerSecond bandwidth;
    Seconds latency;
    int lanes = 1;
  };
  /// Resources in numbering order. The NVLink resource of a GPU pair carries all its lanes.
  [[nodiscard]] const std::vector<Resource>& resources() const { return resources_; }

  /// The resources that a transfer from `from` to `to` uses, in order: least latency first, then
  /// the widest bottleneck, then the lowest ids. A direct NVLink (or an NVSwitch) is preferred to
  /// NVLink through one other GPU, the one that gives most, and that to PCIe (NCCL v2.28.9,
  /// src/graph/paths.cc, ncclTopoSetPaths: one hop through a GPU, of NVLink only). Otherwise GPUs
  /// and NICs are never passed through. Beyond what peer_to_peer allows it is route_through_host,
  /// between GPUs with the way back over each link between sockets: a kernel's store into another
  /// socket's memory fetches the line before it is written there. So rings of ddlb's rows of
  /// BSP-A2A that calibrate (results/reference/ddlb.yaml: four RTX 2080 Ti of two sockets)
  /// reach 4.9 GB/s, of Skylake's 10.
  /// @return empty when `from == to`.
  /// @throws SimulationError when there is no way; the message names both devices.
  [[nodiscard]] std::vector<int> route(DeviceId from, DeviceId to) const;

  /// The same by way of the host memory nearest to the GPU among `from` and `to` (to `from` when
  /// both are): its NUMA node, or in a machine without those its host bridge, whose transit is
  /// then loaded twice. NVLink is not taken. Equal to route() where the machine has neither.
  [[nodiscard]] std::vector<int> route_through_host(DeviceId from, DeviceId to) const;

  /// The resources of a copy from a GPU or NIC to the host memory nearest to it (a NUMA node, or in
  /// a machine without those a host bridge, whose transit is loaded once); empty when the machine
  /// has neither. NVLink is not taken.
  [[nodiscard]] std::vector<int> route_to_host(DeviceId device) const;
  /// The same way back.
  [[nodiscard]] std::vector<int> route_from_host(DeviceId device) const;

  /// What copies of a GPU to its host memory carry: the narrowest link on the way; of a GPU in a
  /// machine without host memory, what its widest link that is not NVLink carries.
  [[nodiscard]] BytesPerSecond host_copy_bandwidth(DeviceId gpu) const;

  /// Whether each of these GPUs reaches the memory of every other one: over NVLink, or by PCIe as
  /// far as peer_to_peer allows. A copy between GPUs that do not goes by host memory.
  [[nodiscard]] bool are_peers(std::span<const DeviceId> gpus) const;

  /// Whether two devices whose way over PCIe leads to a device of this kind still reach each
  /// other's memory.
  [[nodiscard]] bool lets_peers_pass(DeviceKind passed) const;

  /// GPUs and NICs that no path leads to from here, in order of their ids.
  [[nodiscard]] std::vector<DeviceId> unreached(DeviceId from) const;

  /// NVLinks (lanes) that directly join two GPUs, 0 when none. Through an NVSwitch: the smaller of
  /// the two GPUs' lanes into it.
  [[nodiscard]] int nvlink_lanes(DeviceId a, DeviceId b) const;

  /// NIC indices ordered by closeness to the GPU (route latency in whole picoseconds, then index).
  /// Where several are nearest, each GPU begins at another: NIC (GPU index modulo their number),
  /// so that GPUs spread over the NICs of a switch that they share, as NCCL's do (v2.28.9,
  /// src/graph/topo.cc, ncclTopoGetLocalNet; its bit reversal of the number is left out).
  [[nodiscard]] std::vector<int> nics_by_distance(DeviceId gpu) const;

  /// Bandwidth of the narrowest of these resources; REQUIRES: not empty.
  [[nodiscard]] BytesPerSecond bottleneck(const std::vector<int>& route) const;
  /// Sum of the latencies of these resources.
  [[nodiscard]] Seconds latency(const std::vector<int>& route) const;

 private:
  [[nodiscard]] int transit_resource(DeviceId id) const;
  /// The way over links that `uses` allows; empty when there is none.
  template <class Uses>
  [[nodiscard]] std::vector<int> way(DeviceId from, DeviceId to, Uses uses) const;
  /// NVLink from GPU to GPU through the one between them that gives most; empty when none does.
  [[nodiscard]] std::vector<int> way_through_gpu(DeviceId from, DeviceId to) const;
  /// By way of host memory; empty when there is none, or no way to it.
  [[nodiscard]] std::vector<int> way_through_host(DeviceId from, DeviceId to) const;
  /// The same with the way back over each link between sockets beside the way there.
  [[nodiscard]] std::vector<int> with_lines_fetched(const std::vector<int>& way) const;
  /// Does peer_to_peer allow this way between a GPU and a GPU or NIC?
  [[nodiscard]] bool reaches_directly(const std::vector<int>& way) const;
  /// Nearest NUMA node, else host bridge, by PCIe.
  [[nodiscard]] std::optional<DeviceId> host_memory_of(DeviceId device) const;

  DeviceGraph graph_;
  std::vector<DeviceId> gpus_;
  std::vector<DeviceId> nics_;
  std::vector<Resource> resources_;
};

}  // namespace gradwire
