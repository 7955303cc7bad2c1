#include "sim/engine/link_types.hpp"

#include <cmath>

namespace gradwire {
namespace {

Hop hop_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return Hop::nvlink;
    case LinkKind::pcie:
    case LinkKind::smp:
      return Hop::pcie;
    case LinkKind::network:
      return Hop::network;
  }
  return Hop::network;
}

}  // namespace

std::vector<LinkType> link_types(const ClusterLinks& links) {
  std::vector<LinkType> types;
  types.reserve(links.types().size());
  for (const ClusterLink& link : links.types()) {
    types.push_back({.capacity = link.capacity,
                     .latency = link.latency,
                     .hop = hop_of(link.kind),
                     .connection_capacity = link.connection_capacity,
                     .connections = link.connections});
  }
  return types;
}

std::int64_t femtoseconds(double seconds) {
  return std::llround(seconds * 1e15);
}

}  // namespace gradwire
