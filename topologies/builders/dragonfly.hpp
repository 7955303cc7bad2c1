#pragma once

#include <span>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// A dragonfly (Kim, Dally, Scott, Abts, Technology-driven, highly-scalable dragonfly topology,
/// ISCA 2008): routers of a group joined each to each, groups joined by global links.
struct DragonflyShape {
  int groups = 1;
  int routers_per_group = 1;
  int machines_per_router = 1;
  int global_links = 1;  ///< of each router
  Link local;
  Link global;
};

/// Global links that join each pair of groups: what a group has, shared equally among the others,
/// rounded down; the rest stay unused.
[[nodiscard]] int links_per_pair(const DragonflyShape& shape);

/// Minimal routing: at most one local hop, one global link, one local hop. Of a pair's global links
/// the flow takes one that needs fewest local hops; of equal ones by its hash.
/// REQUIRES: numbers >= 1; links_per_pair(shape) >= 1 when there are several groups.
[[nodiscard]] Fabric dragonfly(std::span<const PortGroup> groups, const DragonflyShape& shape);

}  // namespace gradwire
