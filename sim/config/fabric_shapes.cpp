#include "sim/config/fabric_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/link_yaml.hpp"
#include "sim/core/switch_classes.hpp"
#include "topologies/builders/dragonfly.hpp"
#include "topologies/builders/fat_tree.hpp"
#include "topologies/builders/machines.hpp"
#include "topologies/builders/rail.hpp"
#include "topologies/builders/torus.hpp"

namespace gradwire::config {
namespace {

/// More than any switch has ports, and than any fabric has switches in a row.
constexpr int radix_max = 4096;
constexpr int switches_max = 1'000'000;
/// Upward from one switch, and of a whole dragonfly.
constexpr int cables_max = 65'536;
constexpr double trunks_max = 2e6;
constexpr double oversubscription_max = 1000;

int ceil_divided(int number, int by) {
  return (number + by - 1) / by;
}

/// `exact` as a whole number; fails at `key` when it is none.
int whole(double exact, const YamlMap& map, const std::string& key, const std::string& of_what) {
  constexpr double rounding = 1e-6;
  const double nearest = std::round(exact);
  if (nearest > cables_max) {
    map.fail(key,
             fmt::format("this gives {:.4g} {}; expected at most {}", exact, of_what, cables_max));
  }
  if (nearest >= 1 && std::abs(exact - nearest) < rounding * nearest) {
    return static_cast<int>(nearest);
  }
  map.fail(key, fmt::format("this gives {:.4g} {}; expected values that give a whole number, at "
                            "least 1",
                            exact, of_what));
}

/// How many cables a leaf has to each of its spines.
int cables_per_spine(YamlMap& map, int cables, int& spines) {
  spines = map.value_or("spines", cables, between(1, switches_max));
  if (cables % spines == 0) return cables / spines;
  map.fail("spines", fmt::format("'spines' is {}, which does not divide the {} cables of a leaf "
                                 "upward; expected a divisor of {}",
                                 spines, cables, cables));
}

/// A leaf of a fat tree: how many machines hang below, how many cables go up.
struct Leaf {
  int machines = 0;
  int cables = 0;
};

/// @param below_per_cable  ports below for each cable above that give the oversubscription.
Leaf read_leaf(YamlMap& map, std::span<const PortGroup> ports, double below_per_cable, int& radix) {
  const auto written_radix = map.optional<int>("radix", between(2, radix_max));
  const auto machines = map.optional<int>("nodes_per_leaf", between(1, switches_max));
  if (written_radix.has_value() == machines.has_value()) {
    throw ConfigError(map.where(),
                      "a fat tree needs 'radix' or 'nodes_per_leaf'; expected one of the two");
  }
  const int nics = std::max(1, nics_max(ports));
  if (machines) {
    const double cables = *machines * nics / below_per_cable;
    return {*machines, whole(cables, map, "nodes_per_leaf", "cables upward from a leaf")};
  }
  radix = *written_radix;
  const int cables =
      whole(radix / (1 + below_per_cable), map, "radix", "cables upward from a leaf");
  const int per_leaf = (radix - cables) / nics;
  if (per_leaf == 0) {
    map.fail("radix", fmt::format("a leaf has {} ports for nodes, a node has {} NICs; expected a "
                                  "radix that holds a node",
                                  radix - cables, nics));
  }
  return {per_leaf, cables};
}

void read_pods(YamlMap& map, FatTreeShape& shape, int radix) {
  const double over =
      map.value_or("core_oversubscription", 1.0, between(1.0, oversubscription_max));
  if (radix > 0) {
    const int up = whole(radix / (1 + over), map, "radix", "cables upward from a spine");
    shape.cores_per_spine = up;
    const int most = std::max(1, (radix - up) / shape.cables_per_spine);
    shape.leaves_per_pod = map.value_or("leaves_per_pod", most, between(1, most));
    return;
  }
  shape.leaves_per_pod = map.require<int>("leaves_per_pod", between(1, switches_max));
  shape.cores_per_spine = whole(shape.leaves_per_pod * shape.cables_per_spine / over, map,
                                "leaves_per_pod", "cables upward from a spine");
}

/// A fabric that needs more ports on a switch than the radix gives.
void check_radix(const YamlMap& map, const FatTreeShape& shape, int machines, int radix) {
  if (radix == 0) return;
  const bool has_pods = shape.leaves_per_pod > 0;
  const int leaves = ceil_divided(machines, shape.machines_per_leaf);
  const int needed =
      has_pods ? ceil_divided(leaves, shape.leaves_per_pod) : leaves * shape.cables_per_spine;
  if (leaves == 1 || needed <= radix) return;
  const int leaves_max = has_pods ? radix * shape.leaves_per_pod : radix / shape.cables_per_spine;
  map.fail("radix", fmt::format("{} levels of switches with {} ports join at most {} nodes, not "
                                "{}; expected a larger radix{}",
                                has_pods ? 3 : 2, radix, leaves_max * shape.machines_per_leaf,
                                machines, has_pods ? "" : " or 'levels: 3'"));
}

double read_oversubscription(YamlMap& map) {
  return map.value_or("oversubscription", 1.0, between(1.0, oversubscription_max));
}

}  // namespace

Fabric with_routing(YamlMap& map, Fabric fabric) {
  static const std::vector<std::string> known = {"ecmp", "spread"};
  // Assumed of InfiniBand: adaptive routing is switched on. EFA: SRD sprays packets over many paths
  // (Shalev et al., A cloud-optimized transport protocol for elastic and scalable HPC, IEEE Micro
  // 2020). Ethernet switches hash the header (RFC 2992).
  const bool adaptive = std::ranges::all_of(fabric.port_specs(), [](const PortSpec& port) {
    return port.kind == "ib" || port.kind == "efa" || port.kind == "slingshot";
  });
  const std::string routing = map.choice_or("routing", adaptive ? "spread" : "ecmp", known);
  fabric.ecmp_seed = map.value_or("ecmp_seed", fabric.ecmp_seed);
  if (routing == "ecmp") return fabric;
  Fabric merged = merge_equal_ways(fabric);
  for (const auto from : boost::make_iterator_range(boost::vertices(merged.graph()))) {
    for (const auto to : boost::make_iterator_range(boost::vertices(merged.graph()))) {
      if (merged.choices(from, to) < 2) continue;
      map.fail("routing",
               fmt::format("'spread' would be uneven: the equal-cost paths from {} to {} pass "
                           "switches that are not alike; expected 'routing: ecmp'",
                           merged.graph()[from].name, merged.graph()[to].name));
    }
  }
  return merged;
}

Fabric read_fat_tree(YamlMap& map, std::span<const PortGroup> ports) {
  const int levels = map.value_or("levels", 2, between(2, 3));
  const PortSpec& port = fastest_port(ports);
  FatTreeShape shape;
  shape.trunk = read_trunk(map, "trunk", port);
  const double below_per_cable =
      read_oversubscription(map) * (shape.trunk.bandwidth / port.bandwidth);
  int radix = 0;
  const Leaf leaf = read_leaf(map, ports, below_per_cable, radix);
  shape.machines_per_leaf = leaf.machines;
  shape.cables_per_spine = cables_per_spine(map, leaf.cables, shape.spines);
  if (levels == 3) read_pods(map, shape, radix);
  check_radix(map, shape, machine_count(ports), radix);
  return with_routing(map, fat_tree(ports, shape));
}

Fabric read_rail(YamlMap& map, std::span<const PortGroup> ports) {
  const PortSpec& port = fastest_port(ports);
  const int machines = machine_count(ports);
  RailShape shape;
  if (!map.value_or("spine", true)) return rail(ports, shape);
  shape.machines_per_leaf = map.value_or("nodes_per_leaf", machines, between(1, switches_max));
  shape.trunk = read_trunk(map, "trunk", port);
  const double exact = std::min(shape.machines_per_leaf, machines) /
                       (read_oversubscription(map) * (shape.trunk.bandwidth / port.bandwidth));
  const int cables =
      whole(exact, map, map.has("nodes_per_leaf") ? "nodes_per_leaf" : "oversubscription",
            "cables upward from a rail switch");
  shape.cables_per_spine = cables_per_spine(map, cables, shape.spines);
  return with_routing(map, rail(ports, shape));
}

Fabric read_dragonfly(YamlMap& map, std::span<const PortGroup> ports) {
  DragonflyShape shape;
  shape.groups = map.require<int>("groups", between(1, radix_max));
  shape.routers_per_group = map.require<int>("routers_per_group", between(1, radix_max));
  const int machines = machine_count(ports);
  const int routers = shape.groups * shape.routers_per_group;
  const double trunks =
      0.5 * routers * (shape.routers_per_group - 1) + 0.5 * shape.groups * (shape.groups - 1);
  if (trunks > trunks_max) {
    map.fail("routers_per_group",
             fmt::format("these groups have {:.4g} trunks; expected at most {:.4g}", trunks,
                         trunks_max));
  }
  const int per_router = std::max(1, ceil_divided(machines, routers));
  shape.machines_per_router =
      map.value_or("nodes_per_router", per_router, between(per_router, switches_max));
  const int links = std::max(1, ceil_divided(shape.groups - 1, shape.routers_per_group));
  shape.global_links = map.value_or("global_links", links, between(links, radix_max));
  const PortSpec& port = fastest_port(ports);
  shape.local = read_trunk(map, "trunk", port);
  PortSpec local = port;
  local.bandwidth = shape.local.bandwidth;
  local.latency = shape.local.latency;
  shape.global = read_trunk(map, "global_trunk", local);
  Fabric fabric = dragonfly(ports, shape);
  fabric.ecmp_seed = map.value_or("ecmp_seed", fabric.ecmp_seed);
  return fabric;
}

Fabric read_torus(YamlMap& map, std::span<const PortGroup> ports) {
  map.require_value("dimensions", "a list such as [4, 4, 4]");
  TorusShape shape;
  shape.dimensions = map.list<int>("dimensions", between(1, switches_max));
  double switches = 1;
  for (const int size : shape.dimensions) switches *= size;
  if (shape.dimensions.empty() || switches > switches_max) {
    map.fail("dimensions", fmt::format("'dimensions' are of {:.0f} switches; expected 1 to {}",
                                       shape.dimensions.empty() ? 0.0 : switches, switches_max));
  }
  const int per_switch =
      std::max(1, ceil_divided(machine_count(ports), static_cast<int>(switches)));
  shape.machines_per_switch =
      map.value_or("nodes_per_switch", per_switch, between(per_switch, switches_max));
  shape.trunk = read_trunk(map, "trunk", fastest_port(ports));
  return torus(ports, shape);
}

}  // namespace gradwire::config
