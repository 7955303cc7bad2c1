#pragma once

#include <functional>
#include <map>
#include <string>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/nccl_constants.hpp"

namespace gradwire {

/// What NCCL asks of a GPU model.
struct NcclGpu {
  int capability = 0;               ///< compute capability x 10: 80, 86, 90
  BytesPerSecond memory_bandwidth;  ///< nominal, 0 when unknown
};
/// By Device::model.
using NcclGpus = std::map<std::string, NcclGpu, std::less<>>;

/// What pricing must know of a pattern over a cluster: found once for each pattern.
struct NcclFacts {
  Seconds nvlink_per_byte;  ///< of the collective's size, on the busiest NVLink
  Seconds pcie_per_byte;    ///< same, on the busiest other link inside a machine
  /// That a byte of a message to another machine takes between GPUs and the host memories of both
  /// ends; 0 where ports reach GPU memory.
  Seconds staged_per_byte;
  Seconds other_per_byte;    ///< same, on the busiest link that is not NVLink
  Seconds planned_per_byte;  ///< same, as NCCL plans (NcclConstants::intel_p2p_overhead)
  /// Same, on a flow's TCP connections, where they carry less than the port. NCCL plans without it:
  /// it asks the interface for its speed (src/transport/net_socket.cc, ncclNetSocketGetSpeed).
  Seconds connected_per_byte;
  /// Same, where each channel opens one connection to a peer (NcclConstants::several_connections).
  Seconds lone_connection_per_byte;
  /// Same, were one connection to carry all that passes a port.
  Seconds port_connection_per_byte;
  double socket_share = 0;  ///< what passes the busiest port of sockets, one direction / the size
  /// Same, of the busiest rank's network thread, where that alone serves its connections, in both
  /// directions: as much as one connection carries.
  Seconds proxy_per_byte;
  double sent_share = 0;       ///< what the busiest rank sends to other machines / the size
  double exchanged_share = 0;  ///< what the busiest one sends and receives
  Seconds network_latency;     ///< of the network links between two machines, the longest
  /// Of that, the kernels' time for a message at both ends, where they carry it (TCP).
  Seconds kernel_latency;
  Seconds stated_latency;            ///< of the network, by NCCL's plug-in for it; 0: none
  bool is_efa = false;               ///< the network is AWS's
  Seconds late_message;              ///< of the slowest port (PortSpec::late_message)
  Seconds rendezvous;                ///< of the slowest port (PortSpec::rendezvous)
  Bytes eager;                       ///< of that port (PortSpec::eager)
  double ports = 1;                  ///< that a machine sends through, the mean
  int ports_of_machine = 0;          ///< that it has, the mean, rounded down
  NcclHop local = hop_nvlink;        ///< the slowest kind of hop inside a machine
  bool stores_over_pcie = false;     ///< GPUs store into each other's memory over it
  bool crosses_host_bridge = false;  ///< GPU traffic passes one
  bool amd = false;                  ///< a machine's processors are AMD's
  int capability_min = 0;            ///< of the GPUs of the machines that take part
  int capability_max = 0;
  BytesPerSecond memory_bandwidth;  ///< the least, 0 when unknown
};

/// Walks over all flows of the pattern.
[[nodiscard]] NcclFacts examine(const Cluster& cluster, const Pattern& pattern,
                                const NcclGpus& gpus, const NcclConstants& constants);

}  // namespace gradwire
