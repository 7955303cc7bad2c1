#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/cluster_link.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// A network port that scenarios name in `fabric.link`, with the origin of its figures.
struct PortKind {
  PortSpec port;           ///< payload bandwidth; latency of one port: half a GPU-to-GPU crossing
                           ///< without the PCIe of either end
  BytesPerSecond nominal;  ///< one direction, as sold
  std::string source;
};

/// A kind of connection inside a machine: payload per lane (NVLink) or per x16 slot or socket pair.
struct WireKind {
  std::string name;  ///< "nvlink2", "pcie3", "broadwell"
  LinkKind kind = LinkKind::pcie;
  BytesPerSecond bandwidth;  ///< payload, one direction
  std::optional<BytesPerSecond> nominal;
  double gigatransfers = 0;  ///< of PCIe: what a lane signals at, in GT/s
  std::string source;
};

/// What connects a GPU model.
struct GpuWires {
  std::string model;            ///< leading part of the model's name: "v100-sxm2"
  std::string nvlink;           ///< a WireKind, "" when it has none
  int nvlinks = 0;              ///< lanes of one GPU
  std::string pcie;             ///< a WireKind
  int compute_capability = 0;   ///< times 10: 70, 86 (NVIDIA, CUDA GPU Compute Capability)
  bool peers_over_pcie = true;  ///< its driver lets it reach other devices' memory over PCIe
};

/// What machines have beside GPUs from a compute capability on, or beside one GPU model.
struct MachineParts {
  int from_capability = 0;
  std::string gpu;     ///< of GpuWires; "": all from that capability on
  std::string port;    ///< a PortKind
  std::string socket;  ///< a WireKind between sockets
  std::string source;  ///< "DGX A100"
};

/// A name without a form ("a100"), and the two models that it may mean.
struct GpuForms {
  std::string name;
  std::string module;
  int lanes = 0;  ///< of the module
  std::string card;
};

/// A GPU's id in the PCI configuration space, as NCCL writes it: "0x20b0".
struct PciDevice {
  std::string id;
  std::string model;
};

/// What a matrix or a file of NCCL's tells of the NVLinks of a machine's GPUs.
struct SeenNvlinks {
  int gpus = 0;
  int lanes = 0;  ///< of one GPU, the most of any
  int peers = 0;  ///< ends that they lead to
};

/// What is known of links by name: config reads profiles/tables/links.yaml, which has the sources.
struct LinkTables {
  Seconds gpu_pcie_latency;  ///< a PCIe link with a GPU at its end
  Seconds pcie_hop_latency;  ///< any other PCIe link, with the bridge behind it
  Seconds nvlink_latency;    ///< GPU to GPU; half of it from a GPU to an NVSwitch
  Seconds smp_latency;       ///< between two CPU sockets
  std::vector<PortKind> ports;
  std::vector<WireKind> wires;
  std::vector<GpuWires> gpus;  ///< a longer name stands before its beginning
  std::vector<MachineParts> parts;
  std::vector<GpuForms> forms;
  std::vector<PciDevice> pci_devices;  ///< of NVIDIA, vendor 0x10de

  // nullptr when there is none of that name.
  [[nodiscard]] const PortKind* find_port(std::string_view name) const;
  [[nodiscard]] const WireKind* find_wire(std::string_view name) const;
  /// The entry whose name begins `model` ("v100-sxm2-32gb").
  [[nodiscard]] const GpuWires* find_gpu(std::string_view model) const;
  /// The x16 kind of the PCIe generation that signals at so many GT/s a lane.
  [[nodiscard]] const WireKind* find_pcie(double gigatransfers) const;

  /// The kind with the highest nominal rate, per lane (NVLink) or x16 slot (PCIe).
  /// REQUIRES: `kind` is nvlink or pcie.
  [[nodiscard]] const WireKind& fastest_wire(LinkKind kind) const;
  /// What machines with such a GPU have beside it.
  [[nodiscard]] const MachineParts& parts_beside(const GpuWires& gpu) const;
  /// The model that a name without a form ("a100", "h100") means: the SXM module where NVLinks of
  /// one GPU lead to several ends, or the machine has two GPUs joined by all the lanes of a module;
  /// else the PCIe card, which a bridge joins to one other. Other names come back as they are.
  [[nodiscard]] std::string gpu_of_form(const std::string& name, const SeenNvlinks& seen) const;

  /// The model of a PCI device of NVIDIA, "" when it is not known here.
  [[nodiscard]] std::string gpu_of_pci_device(const std::string& id) const;

  [[nodiscard]] std::vector<std::string> port_names() const;
  [[nodiscard]] std::vector<std::string> gpu_names() const;
  /// The kinds that join two sockets, named by their processors: "skylake", "amd".
  [[nodiscard]] std::vector<std::string> socket_names() const;
};

}  // namespace gradwire
