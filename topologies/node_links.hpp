#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/cluster_link.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// A PCIe link with a GPU at its end: half of the 0.9 us that a small write takes from GPU to GPU
/// (p2pBandwidthLatencyTest, two RTX PRO 6000 on PCIe 5).
constexpr Seconds gpu_pcie_latency{0.45e-6};
/// Any other PCIe link, with the bridge behind it: at most 150 ns through a switch (PEX 8796).
constexpr Seconds pcie_hop_latency{0.15e-6};
/// GPU to GPU over NVLink, a store seen by the neighbour: NCCL's hop for ring LL (v2.28.9,
/// src/graph/tuning.cc). Half of it from a GPU to an NVSwitch.
constexpr Seconds nvlink_latency{0.6e-6};
/// Between two CPU sockets: remote minus local memory, 194 - 135 ns (Intel Memory Latency Checker,
/// Xeon E7-4800).
constexpr Seconds smp_latency{0.06e-6};

/// A kind of connection inside a machine: payload per lane (NVLink) or per x16 slot or socket pair.
struct WireKind {
  std::string name;  ///< "nvlink2", "pcie3", "broadwell"
  LinkKind kind = LinkKind::pcie;
  BytesPerSecond bandwidth;  ///< payload, one direction
  std::optional<BytesPerSecond> nominal;
  std::string source;
};
[[nodiscard]] std::span<const WireKind> wire_kinds();
/// nullptr when there is no such kind.
[[nodiscard]] const WireKind* find_wire_kind(std::string_view name);
/// The x16 kind of the PCIe generation that signals at so many GT/s a lane (2.5, 5, 8, 16, 32, 64);
/// nullptr when there is none.
[[nodiscard]] const WireKind* find_pcie_wire(double gigatransfers);
/// The kind with the highest nominal rate, per lane (NVLink) or x16 slot (PCIe).
/// REQUIRES: `kind` is nvlink or pcie.
[[nodiscard]] const WireKind& fastest_wire(LinkKind kind);

/// The kinds that join two sockets, named by their processors: "skylake", "amd".
[[nodiscard]] std::vector<std::string> socket_link_names();

/// What connects a GPU model.
struct GpuWires {
  std::string model;           ///< leading part of the model's name: "v100-sxm2"
  std::string nvlink;          ///< a WireKind, "" when it has none
  int nvlinks = 0;             ///< lanes of one GPU
  std::string pcie;            ///< a WireKind
  int compute_capability = 0;  ///< times 10: 70, 86 (NVIDIA, CUDA GPU Compute Capability)
  /// Whether its driver lets it reach other devices' memory over PCIe. Not on GeForce RTX: 2080 Ti
  /// (NVIDIA/nccl-tests issue 117), 3090 (NVIDIA/nccl issue 1127), 4090 (issue 1309).
  bool peers_over_pcie = true;
};
/// What machines with a generation of GPUs have beside them.
struct MachineParts {
  std::string port;    ///< a PortKind
  std::string socket;  ///< a WireKind between sockets
  std::string source;  ///< "DGX A100"
};
[[nodiscard]] const MachineParts& parts_beside(const GpuWires& gpu);

/// What a matrix or a file of NCCL's tells of the NVLinks of a machine's GPUs.
struct SeenNvlinks {
  int gpus = 0;
  int lanes = 0;  ///< of one GPU, the most of any
  int peers = 0;  ///< ends that they lead to
};
/// The model that a name without a form ("a100", "h100") means: the SXM module where NVLinks of one
/// GPU lead to several ends, or the machine has two GPUs joined by all the lanes of a module; else
/// the PCIe card, which a bridge joins to one other. Other names come back as they are.
[[nodiscard]] std::string gpu_of_form(const std::string& name, const SeenNvlinks& seen);

/// The entry whose name begins `model` ("v100-sxm2-32gb"); nullptr when unknown.
[[nodiscard]] const GpuWires* find_gpu_wires(std::string_view model);
[[nodiscard]] std::vector<std::string> gpu_wires_names();

}  // namespace gradwire
