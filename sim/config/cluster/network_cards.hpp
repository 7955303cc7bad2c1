#pragma once

#include <optional>
#include <string>

#include "sim/core/node_graph.hpp"

namespace gradwire::config {

/// The node with `count` NICs of `model` in place of its own, spread evenly over the slots of
/// those; a node without NICs gets them where its GPUs' PCIe links end, with links like theirs.
/// Where a slot is beside each GPU, and at least as many are wanted as GPUs take part, they are
/// beside those: four ports of four GPUs of a rack of 72 are of their tray.
/// REQUIRES: count >= 1; 1 <= gpus <= those of the node, of which the first take part.
/// @return nothing when the node has neither NICs nor PCIe links of GPUs.
[[nodiscard]] std::optional<NodeGraph> with_network_cards(const NodeGraph& node, int count,
                                                          const std::string& model, int gpus);

/// The node with links of this bandwidth between its sockets, each way. REQUIRES: above 0.
/// @return nothing when it has none.
[[nodiscard]] std::optional<NodeGraph> with_socket_bandwidth(const NodeGraph& node,
                                                             BytesPerSecond bandwidth);

}  // namespace gradwire::config
