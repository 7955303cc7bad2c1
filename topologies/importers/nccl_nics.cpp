#include "topologies/importers/nccl_nics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "topologies/links.hpp"

namespace gradwire {
namespace {

constexpr double gigabit = 1e9 / 8;

bool begins_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

/// "ib", "efa", "roce" or "tcp", as PortSpec::kind; "ena", as PortSpec::name begins.
std::string technology(const NcclPci* card, const NcclNet& net) {
  // Names that the kernel's RDMA drivers give, against those of network interfaces.
  constexpr std::array<std::string_view, 4> rdma = {"mlx", "bnxt_re", "irdma", "rocep"};
  constexpr std::string_view amazon = "0x1d0f";
  if (card != nullptr && card->infiniband) return "ib";
  // The PCI ID database: 0xefa0 and up are EFA; the others of Amazon's cards are Ethernet.
  if (card != nullptr && card->vendor == amazon) {
    return card->device.starts_with("0xefa") ? "efa" : "ena";
  }
  return begins_with_any(net.name, rdma) ? "roce" : "tcp";
}

/// The first kind of that speed (within 1 %), of any technology when `kind` is "".
const PortKind* find_port(const LinkTables& links, std::string_view kind, BytesPerSecond speed) {
  constexpr double tolerance = 0.01;
  const auto found = std::ranges::find_if(links.ports, [&](const PortKind& port) {
    const bool same = std::abs(port.nominal / speed - 1) < tolerance;
    return same && (port.port.kind == kind || port.port.name.starts_with(kind));
  });
  return found == links.ports.end() ? nullptr : &*found;
}

}  // namespace

NicKind nic_kind(const LinkTables& links, const NcclPci* card, const NcclNet* net) {
  if (net == nullptr || !net->speed) {
    return {"", "the file states no speed; a scenario must name fabric.link"};
  }
  const std::string kind = technology(card, *net);
  const std::string speed = fmt::format("{:g} Gbit/s", net->speed->count() / gigabit);
  if (const PortKind* port = find_port(links, kind, *net->speed)) return {port->port.name, ""};
  const PortKind* other = find_port(links, "", *net->speed);
  if (other == nullptr) {
    return {"", fmt::format("no kind of link with {} is known: a scenario must name fabric.link",
                            speed)};
  }
  return {other->port.name,
          fmt::format("no {} link with {} is known: taken as {}", kind, speed, other->port.name)};
}

bool is_virtual_interface(std::string_view name) {
  constexpr std::array<std::string_view, 9> beginnings = {
      "veth", "br-", "docker", "virbr", "cni", "cali", "flannel", "tap", "tun"};
  return begins_with_any(name, beginnings);
}

}  // namespace gradwire
