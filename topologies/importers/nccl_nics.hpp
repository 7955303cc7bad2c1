#pragma once

#include <string>
#include <string_view>

#include "topologies/importers/nccl_xml.hpp"
#include "topologies/links.hpp"

namespace gradwire {

/// Which kind of link a port of NCCL's file is.
struct NicKind {
  std::string model;  ///< a port of LinkTables, "" when nothing tells
  std::string doubt;  ///< what was assumed, "" when nothing
};

/// By the card's class and vendor (InfiniBand, EFA), the name (mlx5_0: RDMA, so RoCE; eth0: TCP)
/// and the speed; a speed that the technology is not known at takes the kind of another one.
/// @param card  nullptr: a port of no PCI device.  @param net  nullptr: the file has no port.
[[nodiscard]] NicKind nic_kind(const LinkTables& links, const NcclPci* card, const NcclNet* net);

/// Interfaces of bridges and containers, by the names that Linux, Docker and Kubernetes give them.
[[nodiscard]] bool is_virtual_interface(std::string_view name);

}  // namespace gradwire
