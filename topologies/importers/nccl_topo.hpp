#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/importers/node_parts.hpp"
#include "topologies/importers/smi_matrix.hpp"

namespace gradwire {

/// What the XML does not say, or what the user knows better.
struct NcclTopoOptions {
  std::string name;                    ///< of the node type
  std::string gpu;                     ///< model of every GPU; "": by the PCI device id
  std::string nic;                     ///< kind of every port; "": by its class, name and speed
  std::string cpu;                     ///< decides the socket link; "": by vendor and model
  std::string source;                  ///< where the file comes from
  std::vector<std::string> leave_out;  ///< NICs by name, as of storage and management
  std::optional<SmiMatrix> matrix;     ///< of the same machine: `nvidia-smi topo -m`
  std::string matrix_file;             ///< for messages
};

/// A node from the topology XML that NCCL writes (NCCL_TOPO_DUMP_FILE) and reads (NCCL_TOPO_FILE).
///
/// Each <cpu> is a NUMA node with one host bridge, nested <pci> are PCIe switches. A PCIe link has
/// the bandwidth that NCCL plans with for its generation and width (`links`). <nvlink> to
/// another GPU are direct lanes; those to NVSwitches become lanes into one. GPUs stand in the order
/// of `dev`, without it of their bus ids; ports likewise. What the file hides or has wrong, as in
/// virtual machines and files written by hand, is assumed and reported: links without speed or
/// width, virtual bridges, unknown NVLink targets, missing ports.
///
/// With a matrix: GPUs are matched by the PCI bus ids that its text carries, else by number; NICs
/// by name. It supplies NVLinks where the XML has none; where both tell a path, they must agree on
/// NVLinks, and, when matched by number, on whether the path stays below one PCIe switch, one
/// processor or none. Matched by bus id, the XML's PCIe path is taken and the difference reported.
/// @throws ConfigError as read_nccl_xml does; for no GPU, an unknown model, more lanes than it has,
///         lanes that the two ends count differently, a matrix that disagrees (with both values).
[[nodiscard]] ImportedNode import_nccl_topo(const LinkTables& links, std::string_view text,
                                            const std::string& file,
                                            const NcclTopoOptions& options);

}  // namespace gradwire
