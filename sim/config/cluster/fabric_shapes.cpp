#include "sim/config/cluster/fabric_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>

#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/core/switch_classes.hpp"
#include "topologies/builders/fabrics.hpp"
#include "topologies/builders/machines.hpp"

namespace gradwire::config {
namespace {

/// More than any switch has ports, and than any fabric has switches in a row.
constexpr int radix_max = 4096;
constexpr int switches_max = 1'000'000;
/// Upward from one switch, and of a whole dragonfly.
constexpr int cables_max = 65'536;
constexpr double trunks_max = 2e6;
constexpr double oversubscription_max = 1000;

/// Keys of fabrics; each reads those that it has.
struct FabricKeys {
  int levels = 2;
  std::optional<int> radix;
  std::optional<int> nodes_per_leaf;
  double oversubscription = 1;
  double core_oversubscription = 1;
  bool spine = true;
  int groups = 1;
  int routers_per_group = 1;
  std::vector<int> dimensions;
};

KeyInfo trunk_key(const std::string& name, const std::string& fallback) {
  return {name, fallback, "between switches: a link's name, or one cable, one direction",
          either(value_info<std::string>(), mapping_of(trunk_fields))};
}

Field<FabricKeys> oversubscription(const std::string& of_what) {
  return field("oversubscription", &FabricKeys::oversubscription,
               "bandwidth into " + of_what + " from below / to above",
               between(1.0, oversubscription_max));
}

KeyInfo spines_key(const std::string& fallback, const std::string& doc) {
  return {"spines", fallback, doc, value_info(between(1, switches_max))};
}

const Fields<Fabric>& routing_fields() {
  static const Fields<Fabric> fields = {
      "routing",
      "which way flows take",
      {{{"routing", "spread for ib, efa and slingshot, ecmp for tcp and roce",
         "spread: every flow evenly over all equal-cost paths (adaptive routing; efa: SRD sprays "
         "packets, Shalev et al., IEEE Micro 2020; ib: assumed to be switched on); ecmp: one way "
         "by hash",
         among({"ecmp", "spread"})}},
       field("ecmp_seed", &Fabric::ecmp_seed, "of the hash that chooses among equal-cost paths")}};
  return fields;
}

const Fields<FabricKeys>& fat_tree_fields() {
  static const Fields<FabricKeys> fields = {
      "fat_tree",
      "",
      {field("levels", &FabricKeys::levels, "of switches", between(2, 3)),
       field("radix", &FabricKeys::radix, "ports of every switch", between(2, radix_max),
             "this or nodes_per_leaf"),
       field("nodes_per_leaf", &FabricKeys::nodes_per_leaf, "with all their NICs",
             between(1, switches_max), "this or radix"),
       oversubscription("a leaf"),
       {spines_key("as many as a leaf has cables upward",
                   "a divisor of these; of a pod when there are 3 levels")}}};
  return fields;
}

/// Of a fat tree with three levels.
const Fields<FabricKeys>& pod_fields() {
  static const Fields<FabricKeys> fields = {
      "pods",
      "",
      {{{"leaves_per_pod", "what the radix gives, else required", "3 levels only",
         value_info(between(1, switches_max))}},
       field("core_oversubscription", &FabricKeys::core_oversubscription,
             "of a pod's spines; 3 levels only", between(1.0, oversubscription_max))}};
  return fields;
}

const Fields<FabricKeys>& rail_fields() {
  static const Fields<FabricKeys> fields = {
      "rail",
      "",
      {field("spine", &FabricKeys::spine,
             "false: rails meet only inside machines, over NVLink (as NCCL's PXN)")}};
  return fields;
}

/// Of rails with spines above them.
const Fields<FabricKeys>& rail_spine_fields() {
  static const Fields<FabricKeys> fields = {
      "rail_spine",
      "",
      {field("nodes_per_leaf", &FabricKeys::nodes_per_leaf,
             "on each switch of a rail; needs a spine", between(1, switches_max), "all"),
       oversubscription("a rail switch"),
       {spines_key("as many as a rail switch has cables upward",
                   "switches above all rails; a divisor of these cables")}}};
  return fields;
}

const Fields<FabricKeys>& dragonfly_fields() {
  static const Fields<FabricKeys> fields = {
      "dragonfly",
      "",
      {field("groups", &FabricKeys::groups, "of routers", between(1, radix_max), required),
       field("routers_per_group", &FabricKeys::routers_per_group, "joined each to each",
             between(1, radix_max), required),
       {{"nodes_per_router", "as few as hold all nodes", "with all their NICs",
         value_info(between(1, switches_max))}},
       {{"global_links", "as few as join every two groups", "of each router, to other groups",
         value_info(between(1, radix_max))}}}};
  return fields;
}

const Fields<FabricKeys>& torus_fields() {
  static const Fields<FabricKeys> fields = {
      "torus",
      "",
      {field("dimensions", &FabricKeys::dimensions, "switches in each, such as [4, 4, 4]",
             between(1, switches_max), required),
       {{"nodes_per_switch", "as few as hold all nodes", "with all their NICs",
         value_info(between(1, switches_max))}}}};
  return fields;
}

FabricKeys read_keys(const Fields<FabricKeys>& fields, YamlMap& map) {
  FabricKeys keys;
  fields.read(map, keys);
  return keys;
}

std::vector<KeyInfo> joined(std::initializer_list<std::vector<KeyInfo>> parts) {
  std::vector<KeyInfo> keys;
  for (const auto& part : parts) keys.insert(keys.end(), part.begin(), part.end());
  return keys;
}

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
Leaf leaf_of(const FabricKeys& keys, const YamlMap& map, std::span<const PortGroup> ports,
             double below_per_cable) {
  if (keys.radix.has_value() == keys.nodes_per_leaf.has_value()) {
    throw ConfigError(map.where(),
                      "a fat tree needs 'radix' or 'nodes_per_leaf'; expected one of the two");
  }
  const int nics = std::max(1, nics_max(ports));
  if (const auto machines = keys.nodes_per_leaf) {
    const double cables = *machines * nics / below_per_cable;
    return {*machines, whole(cables, map, "nodes_per_leaf", "cables upward from a leaf")};
  }
  const int radix = *keys.radix;
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
  const double over = read_keys(pod_fields(), map).core_oversubscription;
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

}  // namespace

Fabric with_routing(YamlMap& map, Fabric fabric) {
  static const std::vector<std::string> known = {"ecmp", "spread"};
  // Assumed of InfiniBand: adaptive routing is switched on. EFA: SRD sprays packets over many paths
  // (Shalev et al., A cloud-optimized transport protocol for elastic and scalable HPC, IEEE Micro
  // 2020). Ethernet switches hash the header (RFC 2992).
  const bool adaptive = std::ranges::all_of(fabric.port_specs(), [](const PortSpec& port) {
    return port.kind == "ib" || port.kind == "efa" || port.kind == "slingshot";
  });
  routing_fields().read(map, fabric);
  const std::string routing = map.choice_or("routing", adaptive ? "spread" : "ecmp", known);
  if (routing == "ecmp") return fabric;
  Fabric merged = merge_equal_ways(fabric);
  for (const auto from : merged.graph().vertices()) {
    for (const auto to : merged.graph().vertices()) {
      if (merged.choices(from, to) < 2) continue;
      map.fail("routing",
               fmt::format("'spread' would be uneven: the equal-cost paths from {} to {} pass "
                           "switches that are not alike; expected 'routing: ecmp'",
                           merged.graph()[from].name, merged.graph()[to].name));
    }
  }
  return merged;
}

std::vector<KeyInfo> routing_keys() {
  return routing_fields().keys();
}

std::vector<KeyInfo> fat_tree_keys() {
  return joined({fat_tree_fields().keys(),
                 pod_fields().keys(),
                 {trunk_key("trunk", "as the fastest port")},
                 routing_keys()});
}

std::vector<KeyInfo> rail_keys() {
  return joined({rail_fields().keys(),
                 rail_spine_fields().keys(),
                 {trunk_key("trunk", "as the fastest port")},
                 routing_keys()});
}

std::vector<KeyInfo> dragonfly_keys() {
  return joined({dragonfly_fields().keys(),
                 {trunk_key("trunk", "as the fastest port"), trunk_key("global_trunk", "as trunk"),
                  routing_keys().back()}});
}

std::vector<KeyInfo> torus_keys() {
  return joined({torus_fields().keys(), {trunk_key("trunk", "as the fastest port")}});
}

Fabric read_fat_tree(YamlMap& map, std::span<const PortGroup> ports) {
  const FabricKeys keys = read_keys(fat_tree_fields(), map);
  const PortSpec& port = fastest_port(ports);
  FatTreeShape shape;
  shape.trunk = read_trunk(map, "trunk", port);
  const double below_per_cable = keys.oversubscription * (shape.trunk.bandwidth / port.bandwidth);
  const int radix = keys.radix.value_or(0);
  const Leaf leaf = leaf_of(keys, map, ports, below_per_cable);
  shape.machines_per_leaf = leaf.machines;
  shape.cables_per_spine = cables_per_spine(map, leaf.cables, shape.spines);
  if (keys.levels == 3) read_pods(map, shape, radix);
  check_radix(map, shape, machine_count(ports), radix);
  return with_routing(map, fat_tree(ports, shape));
}

Fabric read_rail(YamlMap& map, std::span<const PortGroup> ports) {
  const PortSpec& port = fastest_port(ports);
  const int machines = machine_count(ports);
  RailShape shape;
  if (!read_keys(rail_fields(), map).spine) return rail(ports, shape);
  const FabricKeys keys = read_keys(rail_spine_fields(), map);
  shape.machines_per_leaf = keys.nodes_per_leaf.value_or(machines);
  shape.trunk = read_trunk(map, "trunk", port);
  const double exact = std::min(shape.machines_per_leaf, machines) /
                       (keys.oversubscription * (shape.trunk.bandwidth / port.bandwidth));
  const int cables =
      whole(exact, map, map.has("nodes_per_leaf") ? "nodes_per_leaf" : "oversubscription",
            "cables upward from a rail switch");
  shape.cables_per_spine = cables_per_spine(map, cables, shape.spines);
  return with_routing(map, rail(ports, shape));
}

Fabric read_dragonfly(YamlMap& map, std::span<const PortGroup> ports) {
  const FabricKeys keys = read_keys(dragonfly_fields(), map);
  DragonflyShape shape;
  shape.groups = keys.groups;
  shape.routers_per_group = keys.routers_per_group;
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
  TorusShape shape;
  shape.dimensions = read_keys(torus_fields(), map).dimensions;
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
