#include "topologies/builders/fabrics.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "topologies/builders/machines.hpp"

namespace gradwire {
namespace {

/// One direction of a global link.
struct GlobalLink {
  Fabric::SwitchId from = 0;
  Fabric::SwitchId to = 0;
  int trunk = 0;
};

/// The global links from group a to group b at [a * groups + b].
using GlobalLinks = std::vector<std::vector<GlobalLink>>;

class MinimalRoute {
 public:
  MinimalRoute(int groups, int routers, GlobalLinks links)
      : groups_(static_cast<std::size_t>(groups)),
        routers_(static_cast<std::size_t>(routers)),
        links_(std::make_shared<const GlobalLinks>(std::move(links))) {}

  std::vector<int> operator()(const Fabric& fabric, Fabric::SwitchId from, Fabric::SwitchId to,
                              std::uint64_t pick) const {
    if (from / routers_ == to / routers_) return {fabric.trunk_between(from, to)};
    const auto& links = (*links_)[from / routers_ * groups_ + to / routers_];
    std::vector<const GlobalLink*> best;
    int least = std::numeric_limits<int>::max();
    for (const GlobalLink& link : links) {
      const int local_hops = (link.from != from ? 1 : 0) + (link.to != to ? 1 : 0);
      if (local_hops > least) continue;
      if (local_hops < least) best.clear();
      least = local_hops;
      best.push_back(&link);
    }
    const GlobalLink& taken = *best[pick % best.size()];
    std::vector<int> trunks;
    if (taken.from != from) trunks.push_back(fabric.trunk_between(from, taken.from));
    trunks.push_back(taken.trunk);
    if (taken.to != to) trunks.push_back(fabric.trunk_between(taken.to, to));
    return trunks;
  }

 private:
  std::size_t groups_;
  std::size_t routers_;
  std::shared_ptr<const GlobalLinks> links_;  ///< a fabric may be copied
};

}  // namespace

int links_per_pair(const DragonflyShape& shape) {
  return shape.groups < 2 ? 0 : shape.routers_per_group * shape.global_links / (shape.groups - 1);
}

Fabric dragonfly(std::span<const PortGroup> groups, const DragonflyShape& shape) {
  assert(shape.groups >= 1 && shape.routers_per_group >= 1 && shape.machines_per_router >= 1);
  const int per_pair = links_per_pair(shape);
  assert(shape.groups == 1 || per_pair >= 1);
  Fabric fabric;
  fabric.kind = "dragonfly";
  for (int group = 0; group < shape.groups; ++group) {
    for (int router = 0; router < shape.routers_per_group; ++router) {
      fabric.add_switch(fmt::format("group{}.router{}", group, router));
    }
  }
  const auto router_at = [&](int group, int router) {
    return static_cast<Fabric::SwitchId>(group) *
               static_cast<Fabric::SwitchId>(shape.routers_per_group) +
           static_cast<Fabric::SwitchId>(router);
  };
  for (int group = 0; group < shape.groups; ++group) {
    for (int a = 0; a < shape.routers_per_group; ++a) {
      for (int b = a + 1; b < shape.routers_per_group; ++b) {
        fabric.connect(router_at(group, a), router_at(group, b), shape.local);
      }
    }
  }
  // Global port q of a group belongs to router q / global_links. Copy c of the link to the group
  // `offset` places further leaves by port c * (groups - 1) + offset - 1 and arrives by the port
  // that the other group has for the way back.
  const auto group_count = static_cast<std::size_t>(shape.groups);
  GlobalLinks links(group_count * group_count);
  const auto pair = [&](int a, int b) {
    return static_cast<std::size_t>(a) * group_count + static_cast<std::size_t>(b);
  };
  const auto owner = [&](int group, int copy, int offset) {
    return router_at(group, (copy * (shape.groups - 1) + offset - 1) / shape.global_links);
  };
  for (int a = 0; a < shape.groups; ++a) {
    for (int b = a + 1; b < shape.groups; ++b) {
      for (int copy = 0; copy < per_pair; ++copy) {
        const auto from = owner(a, copy, b - a);
        const auto to = owner(b, copy, shape.groups - (b - a));
        const auto trunk = static_cast<int>(fabric.graph().edges().size());
        fabric.connect(from, to, shape.global);
        links[pair(a, b)].push_back({from, to, trunk});
        links[pair(b, a)].push_back({to, from, trunk + 1});
      }
    }
  }
  attach_all(fabric, groups, [&](int machine, int /*nic*/) {
    return static_cast<Fabric::SwitchId>(machine / shape.machines_per_router);
  });
  fabric.rule = MinimalRoute(shape.groups, shape.routers_per_group, std::move(links));
  return fabric;
}

}  // namespace gradwire
