#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// The flows of a strategy's exchange over the cluster's links. Between machines data go over the
/// first NIC of each, from host memory to host memory; what begins or ends in a GPU is copied from
/// or to the host memory of its machine on the way (one after the other costs no more: a message
/// is one flow over all its links). A copy between a GPU and the host memory of a rank on its
/// machine ends at the socket of that rank's GPU. Between GPUs of one machine they take the GPUs'
/// own way.
///
/// A message within one host memory takes no link and is left out.
/// @param servers  machine of each server.
/// @throws SimulationError when a machine has no NIC.
[[nodiscard]] Pattern lay_exchange(const Exchange& exchange, const Cluster& cluster,
                                   const Placement& placement, std::span<const int> servers);

/// Does any of its messages take a link?
[[nodiscard]] bool takes_links(const Exchange& exchange, const Cluster& cluster,
                               const Placement& placement, std::span<const int> servers);

/// Visits each link that one of its messages takes, with the message's share.
/// @param path  room for one message's, to be handed in again.
void visit_links(const Exchange& exchange, const Cluster& cluster, const Placement& placement,
                 std::span<const int> servers, std::vector<LinkId>& path,
                 const std::function<void(LinkId link, double share)>& visit);

}  // namespace gradwire
