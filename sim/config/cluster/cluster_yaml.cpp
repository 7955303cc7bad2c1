#include "sim/config/cluster/cluster_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/config/cluster/cluster_topology_yaml.hpp"
#include "sim/config/cluster/fabric_shapes.hpp"
#include "sim/config/cluster/machine_group.hpp"
#include "sim/config/cluster/topology_catalogue.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire::config {
namespace {

constexpr const char* topology_schema = "gradwire.cluster_topology/1";

/// Twice as many as the largest job that is planned within seconds.
constexpr std::int64_t gpus_max = 2'000'000;

/// @param owner  of the groups, or of the only one's keys.
void require_room(const YamlMap& owner, const std::vector<MachineGroup>& groups) {
  std::int64_t gpus = 0;
  for (const MachineGroup& group : groups) {
    gpus += std::int64_t{group.nodes} * std::max(1, group.gpus_per_node);
  }
  if (gpus <= gpus_max) return;
  owner.fail(owner.has("groups") ? "groups" : "nodes",
             fmt::format("the cluster has {} GPUs; expected at most {}", gpus, gpus_max));
}

int count_nodes(const std::vector<MachineGroup>& groups) {
  int nodes = 0;
  for (const MachineGroup& group : groups) nodes += group.nodes;
  return nodes;
}

/// The machines of each mapping of `groups`, without their ports. @param owner  of the list.
std::vector<MachineGroup> read_groups(const YamlMap& owner, std::vector<YamlMap>& maps) {
  if (maps.empty()) owner.fail("groups", "'groups' is empty; expected a group of nodes");
  std::vector<MachineGroup> groups;
  for (YamlMap& map : maps) {
    machine_fields().read(map, groups.emplace_back());
  }
  require_room(owner, groups);
  return groups;
}

std::vector<PortGroup> ports_of(const std::vector<MachineGroup>& groups) {
  std::vector<PortGroup> ports;
  ports.reserve(groups.size());
  for (const MachineGroup& group : groups) ports.push_back(group.ports());
  return ports;
}

Fabric read_fabric(YamlMap& map, const std::vector<PortGroup>& ports) {
  if (map.has("topology")) {
    if (map.has("kind")) {
      map.fail("kind", "'kind' stands beside 'topology'; expected one of the two");
    }
    const YamlValue& name = map.require_value("topology", "a file");
    const YamlValue& document = loaded_yaml(find_data(DataKind::cluster, name, "topology"));
    YamlMap file(document);
    file.require_schema(topology_schema);
    if (file.has("groups")) {
      map.fail("topology",
               "this file has 'groups' of its own; expected it under 'cluster', as "
               "'cluster: {topology: ...}'");
    }
    const NetworkFile network(file);
    file.finish();
    return with_routing(map, network.fabric(ports));
  }
  const auto& catalogue = fabric_catalogue();
  const std::string kind = map.require_choice("kind", names_of(catalogue));
  return std::ranges::find(catalogue, kind, &FabricEntry::name)->read(map, ports);
}

ClusterSpec make_spec(const std::vector<MachineGroup>& groups, Fabric fabric,
                      const SourceLocation& where) {
  std::vector<std::shared_ptr<const NodeGraph>> nodes;
  ClusterSpec spec;
  for (const MachineGroup& group : groups) {
    nodes.insert(nodes.end(), static_cast<std::size_t>(group.nodes), group.node);
    spec.gpus.insert(spec.gpus.end(), static_cast<std::size_t>(group.nodes), group.gpus_per_node);
  }
  spec.cluster = std::make_shared<const Cluster>(std::move(nodes), std::move(fabric));
  if (const auto pair = spec.cluster->separated()) {
    throw ConfigError(where, fmt::format("node{} has no path to node{}; expected a fabric that "
                                         "joins all nodes",
                                         pair->second, pair->first));
  }
  return spec;
}

Section fabric_section() {
  Section section{"fabric", "what joins the machines", port_keys()};
  section.keys.insert(
      section.keys.begin(),
      {{"kind", "this or topology", "its shape: `gradwire list fabrics`",
        among(names_of(fabric_catalogue()))},
       {"topology", "this or kind",
        "a cluster file without `groups`, or a name of `gradwire list topologies`"}});
  section.chosen_by = "kind";
  section.chosen_default = "topology";
  for (const FabricEntry& fabric : fabric_catalogue()) {
    section.variants.push_back({fabric.name, fabric.parameters});
  }
  section.variants.push_back({"topology", routing_keys()});
  return section;
}

Section groups_section() {
  Section section = machine_fields().section();
  const auto ports = port_keys();
  section.keys.insert(section.keys.end(), ports.begin(), ports.end());
  return section;
}

}  // namespace

Section cluster_section() {
  Section section{"cluster", "machines and their network", machine_fields().keys()};
  section.keys.front().fallback = "this, groups or topology";
  section.keys.insert(section.keys.end(), {{"fabric", "required for several machines",
                                            "what joins them", mapping_of(fabric_section)},
                                           {"topology", "none",
                                            "a cluster file with `groups`, or a name of `gradwire "
                                            "list topologies`; no other key beside it"},
                                           {"groups", "none",
                                            "machines of several types; `link`, `gpudirect` and "
                                            "`links_per_node` of each stand in place "
                                            "of the fabric's",
                                            list_of(mapping_of(groups_section))}});
  return section;
}

ClusterSpec read_cluster(YamlMap& scenario, const std::optional<ServerSpec>& servers) {
  YamlMap map = scenario.require_map("cluster");
  if (map.has("topology")) {
    const YamlValue& name = map.require_value("topology", "a file");
    const YamlValue& document = loaded_yaml(find_data(DataKind::cluster, name, "topology"));
    map.finish();
    ClusterSpec spec = read_cluster_topology(document);
    if (spec.cluster) {
      const int machines = spec.cluster->node_count();
      if (servers && servers->extra_machines(machines) > 0) {
        map.fail("topology",
                 "servers on machines of their own cannot be added to a topology's; expected "
                 "'node' and 'fabric', or servers with 'placement: colocated'");
      }
      if (servers) spec.servers = servers->machines_of(machines);
      return spec;
    }
    map.fail("topology",
             "this file has no 'groups' of nodes; expected one that has, or this one "
             "as 'fabric: {topology: ...}'");
  }
  std::vector<YamlMap> maps;
  std::vector<MachineGroup> groups;
  const bool grouped = map.has("groups");
  if (grouped) {
    maps = map.maps("groups");
    groups = read_groups(map, maps);
  } else {
    machine_fields().read(map, groups.emplace_back());
    require_room(map, groups);
  }
  const int machines = count_nodes(groups);
  const int extra = servers ? servers->extra_machines(machines) : 0;
  auto fabric = map.optional_map("fabric");
  if (!fabric && machines + extra > 1) {
    map.require_value("fabric",
                      "one for several nodes, such as {kind: single_switch, link: ib_edr}");
  }
  for (std::size_t i = 0; fabric && i < groups.size(); ++i) {
    groups[i].read_ports(grouped ? maps[i] : *fabric, *fabric);
  }
  for (const YamlMap& group : maps) group.finish();
  if (extra > 0) {
    MachineGroup apart = groups.front();
    apart.nodes = extra;
    apart.gpus_per_node = 0;
    groups.push_back(std::move(apart));
  }
  Fabric built;
  if (fabric) {
    built = read_fabric(*fabric, ports_of(groups));
    fabric->finish();
  }
  map.finish();
  ClusterSpec spec = make_spec(groups, std::move(built), fabric ? fabric->where() : map.where());
  if (servers) spec.servers = servers->machines_of(machines);
  return spec;
}

Section cluster_file_section() {
  Section section{"cluster_file", "a network as a graph, and machines", NetworkFile::keys()};
  section.keys.push_back(
      {"groups", "those of the scenario", "machines", list_of(mapping_of(groups_section))});
  for (const auto& keys : {port_keys(), routing_keys()}) {
    section.keys.insert(section.keys.end(), keys.begin(), keys.end());
  }
  return section;
}

ClusterSpec read_cluster_topology(const YamlValue& document) {
  YamlMap file(document);
  file.require_schema(topology_schema);
  const NetworkFile network(file);
  if (!file.has("groups")) {
    file.finish();
    return {};
  }
  std::vector<YamlMap> maps = file.maps("groups");
  std::vector<MachineGroup> groups = read_groups(file, maps);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].read_ports(maps[i], file);
    maps[i].finish();
  }
  Fabric fabric = with_routing(file, network.fabric(ports_of(groups)));
  file.finish();
  return make_spec(groups, std::move(fabric), file.where());
}

}  // namespace gradwire::config
