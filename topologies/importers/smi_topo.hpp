#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/importers/node_parts.hpp"

namespace gradwire {

/// What the matrix does not say.
struct SmiTopoOptions {
  std::string name{};

/// A node from the text of `nvidia-smi topo -m`.
///
/// The classes give the tree: PIX = one PCIe switch, PXB = switches under one root port, PHB = one
/// host bridge, NODE = one NUMA node, SYS = several, joined pairwise. NV# are direct lanes, unless
/// a GPU's lanes to all its peers exceed what its model has: then each GPU has # lanes into an
/// NVSwitch. Every slot is an x16 of the GPU's PCIe generation. No figure is known for what a host
/// bridge passes to its NUMA node, so it passes what all its slots together carry.
/// @throws ConfigError as read_smi_matrix does, and for an unknown model or more lanes than it has.
[[nodiscard]] ImportedNode import_smi_topo(std::string_view text, const std::string& file,
                                           const SmiTopoOptions& options);

}  // namespace gradwire
