#pragma once

#include <cstdint>
#include <limits>

namespace gradwire {

/// What a link is: smp joins the processors of a machine, network its NICs to the fabric.
enum class LinkKind : std::uint8_t { nvlink, pcie, smp, network };

/// One direction of a link, or a transit limit, as the engine sees it.
struct ClusterLink {
  double capacity = 0;  ///< payload bytes per second
  double latency = 0;   ///< seconds, the kernel's time for a message included
  LinkKind kind = LinkKind::pcie;
  /// Of one TCP connection, bytes per second, and how many a library that opens several has.
  double connection_capacity = std::numeric_limits<double>::infinity();
  int connections = 1;
};

}  // namespace gradwire
