#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/importers/node_parts.hpp"

namespace gradwire {

/// What the matrix does not say.
struct SmiTopoOptions {
  std::string name{};    ///< of the node type: "dgx1v"
  std::string gpu{};     ///< model, decides the NVLink and PCIe generation (LinkTables); one
                         ///< without a form, such as h100, is named by the NVLinks (gpu_of_form)
  std::string nic{};     ///< kind of each NIC's port (a port); "": parts_beside, and reported
  std::string cpu{};     ///< decides the socket link (a wire); "": parts_beside, and reported
  std::string source{};  ///< where the matrix comes from
  std::vector<std::string> leave_out{};  ///< NICs by name, as of storage and management
};

/// A node from the text of `nvidia-smi topo -m`.
///
/// The classes give the tree: PIX = one PCIe switch, PXB = switches under one root port, PHB = one
/// host bridge, NODE = one NUMA node, SYS = several, joined pairwise. NV# are direct lanes, unless
/// a GPU's lanes to all its peers exceed what its model has: then each GPU has # lanes into an
/// NVSwitch. Every slot is an x16 of the GPU's PCIe generation. No figure is known for what a host
/// bridge passes to its NUMA node, so it passes what all its slots together carry. GPUs whose CPU
/// affinity is the same share a NUMA node where NV# hides their path, unless other paths deny it.
/// @throws ConfigError as read_smi_matrix does, and for an unknown model or more lanes than it has.
[[nodiscard]] ImportedNode import_smi_topo(const LinkTables& links, std::string_view text,
                                           const std::string& file, const SmiTopoOptions& options);

}  // namespace gradwire
