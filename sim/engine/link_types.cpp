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

std::uint32_t LinkTypes::of(const ClusterLink& link) {
  const auto next = static_cast<std::uint32_t>(types_.size());
  const Key key{link.capacity, link.latency, link.kind, link.connection_capacity, link.connections};
  const auto [found, is_new] = index_.try_emplace(key, next);
  if (is_new) {
    types_.push_back({.capacity = link.capacity,
                      .latency = link.latency,
                      .hop = hop_of(link.kind),
                      .connection_capacity = link.connection_capacity,
                      .connections = link.connections});
  }
  return found->second;
}

std::int64_t femtoseconds(double seconds) {
  return std::llround(seconds * 1e15);
}

}  // namespace gradwire
