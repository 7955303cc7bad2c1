#include "sim/config/cluster/cluster_topology_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/core/cluster.hpp"
#include "topologies/builders/machines.hpp"

namespace gradwire::config {
namespace {

constexpr int cables_max = 1024;

Fabric::SwitchId read_switch(YamlMap& map, const std::string& key,
                             const std::vector<std::string>& names) {
  const std::string name = map.require_choice(key, names);
  return static_cast<Fabric::SwitchId>(std::ranges::find(names, name) - names.begin());
}

/// What joins two switches.
struct Cables {
  Link link;
  int count = 1;
};

const Fields<Cables>& cables_fields() {
  static const Fields<Cables> fields = {
      "trunks",
      "cables between two switches, one direction each way",
      {declared<Cables>({"a", required, "a switch"}), declared<Cables>({"b", required, "another"}),
       part(&Cables::link, field("bandwidth", &Link::bandwidth, "payload of one cable",
                                 above(BytesPerSecond{}), required)),
       part(&Cables::link, field("latency", &Link::latency, "one way",
                                 between(Seconds{}, latency_most), required)),
       field("cables", &Cables::count, "parallel ones", between(1, cables_max))}};
  return fields;
}

const Fields<std::string>& switch_fields() {
  static const Fields<std::string> fields = {
      "switches",
      "a switch",
      {{{"id", required, "a name of its own that does not begin as a node's"},
        [](YamlMap& map, std::string& id) { id = map.require<std::string>("id"); }}}};
  return fields;
}

Section ports_section() {
  const ValueInfo numbers = list_of(value_info(at_least(0)));
  return {"ports",
          "which NICs hang where",
          {{"switch", required, "their switch"},
           {"nodes", required, "numbers of machines", numbers},
           {"nics", "all", "numbers of their NICs", numbers}}};
}

void read_trunk_between(YamlMap& map, const std::vector<std::string>& names, Fabric& fabric) {
  const auto a = read_switch(map, "a", names);
  const auto b = read_switch(map, "b", names);
  if (a == b) map.fail("b", "the trunk ends where it begins; expected another switch");
  refuse_two_way(map);
  Cables cables;
  cables_fields().read_all(map, cables);
  cables.link.kind = LinkKind::network;
  for (int i = 0; i < cables.count; ++i) fabric.connect(a, b, cables.link);
}

std::vector<const YamlValue*> read_numbers(YamlMap& map, const std::string& key) {
  std::vector<const YamlValue*> items;
  static_cast<void>(map.list<int>(key, at_least(0)));
  if (const YamlValue* list = map.find(key)) {
    for (const YamlValue& item : list->items) items.push_back(&item);
  }
  return items;
}

}  // namespace

std::vector<KeyInfo> NetworkFile::keys() {
  return {{"name", required, "its own"},
          {"source", required, "where it is known from"},
          {"switches", required, "by name", list_of(mapping_of(switch_fields))},
          {"trunks", "none", "between them", list_of(mapping_of(cables_fields))},
          {"ports", required, "of machines", list_of(mapping_of(ports_section))}};
}

NetworkFile::NetworkFile(YamlMap& document) {
  name_ = document.require<std::string>("name");
  static_cast<void>(document.require<std::string>("source"));
  std::vector<std::string> names;
  document.require_value("switches", "a list such as [{id: leaf0}]");
  for (YamlMap& item : document.maps("switches")) {
    std::string id;
    switch_fields().read(item, id);
    if (id.empty() || id.starts_with("node") || std::ranges::find(names, id) != names.end()) {
      item.fail("id", fmt::format("switch '{}' is not new; expected a name of its own that does "
                                  "not begin as a node's",
                                  id));
    }
    item.finish();
    names.push_back(id);
    switches_.add_switch(id);
  }
  for (YamlMap& item : document.maps("trunks")) read_trunk_between(item, names, switches_);
  where_ = document.require_value("ports", "a list such as [{switch: leaf0, nodes: [0]}]").where;
  for (YamlMap& item : document.maps("ports")) {
    Port port;
    port.at = read_switch(item, "switch", names);
    item.require_value("nodes", "a list such as [0, 1]");
    port.nodes = read_numbers(item, "nodes");
    port.nics = read_numbers(item, "nics");
    item.finish();
    ports_.push_back(std::move(port));
  }
}

Fabric NetworkFile::fabric(std::span<const PortGroup> ports) const {
  std::vector<std::vector<std::optional<Fabric::SwitchId>>> at;  // [machine][nic]
  for (const PortGroup& group : ports) {
    const std::vector<std::optional<Fabric::SwitchId>> nowhere(
        static_cast<std::size_t>(group.nics));
    at.insert(at.end(), static_cast<std::size_t>(group.machines), nowhere);
  }
  const auto hang = [&](const YamlValue& item, std::size_t node, std::size_t nic,
                        Fabric::SwitchId where) {
    if (at[node][nic]) {
      throw ConfigError(item.where,
                        fmt::format("node{}.nic{} is connected to {} already; expected each "
                                    "NIC once",
                                    node, nic, switches_.graph()[*at[node][nic]].name));
    }
    at[node][nic] = where;
  };
  for (const Port& port : ports_) {
    for (const YamlValue* item : port.nodes) {
      const auto node = static_cast<std::size_t>(
          read_value(*item, "nodes", between(0, static_cast<int>(at.size()) - 1)));
      for (std::size_t nic = 0; port.nics.empty() && nic < at[node].size(); ++nic) {
        hang(*item, node, nic, port.at);
      }
      for (const YamlValue* nic : port.nics) {
        const int index =
            read_value(*nic, "nics", between(0, static_cast<int>(at[node].size()) - 1));
        hang(*nic, node, static_cast<std::size_t>(index), port.at);
      }
    }
  }
  for (std::size_t node = 0; node < at.size(); ++node) {
    const auto nic =
        std::ranges::find_if(at[node], [](const auto& place) { return !place.has_value(); }) -
        at[node].begin();
    if (static_cast<std::size_t>(nic) == at[node].size()) continue;
    throw ConfigError(where_,
                      fmt::format("node{}.nic{} is connected to no switch; expected every NIC of "
                                  "the cluster in 'ports'",
                                  node, nic));
  }
  Fabric fabric = switches_;
  fabric.kind = name_;
  attach_all(fabric, ports, [&](int machine, int nic) {
    return *at[static_cast<std::size_t>(machine)][static_cast<std::size_t>(nic)];
  });
  return fabric;
}

}  // namespace gradwire::config
