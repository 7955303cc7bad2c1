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

/// A switch's name, and where it stands.
struct WrittenSwitch {
  std::string id;
  SourceLocation where;
};

const Fields<WrittenSwitch>& switch_fields() {
  static const Fields<WrittenSwitch> fields = {
      "switches",
      "a switch",
      {{{"id", required, "a name of its own that does not begin as a node's"},
        [](YamlMap& map, WrittenSwitch& made) {
          made.id = map.require<std::string>("id");
          made.where = map.find("id")->where;
        }}}};
  return fields;
}

/// A key that names a switch, which is known when the whole file is read.
template <class T>
Field<T> switch_name(const std::string& key, const YamlValue* T::*member, const std::string& doc) {
  return {{key, required, doc}, [=](YamlMap& map, T& into) {
            into.*member = &map.require_value(key, "a name of 'switches'");
          }};
}

/// What joins two switches.
struct Cables {
  const YamlValue* a = nullptr;
  const YamlValue* b = nullptr;
  Link link;
  int count = 1;
};

const Fields<Cables>& cables_fields() {
  static const Fields<Cables> fields = {
      "trunks",
      "cables between two switches, one direction each way",
      {switch_name("a", &Cables::a, "a switch"), switch_name("b", &Cables::b, "another"),
       part(&Cables::link, field("bandwidth", &Link::bandwidth, "payload of one cable",
                                 above(BytesPerSecond{}), required)),
       part(&Cables::link, field("latency", &Link::latency, "one way",
                                 between(Seconds{}, latency_most), required)),
       field("cables", &Cables::count, "parallel ones", between(1, cables_max))}};
  return fields;
}

/// Numbers, each where it stands: their range is the scenario's.
std::vector<const YamlValue*> read_numbers(YamlMap& map, const std::string& key) {
  std::vector<const YamlValue*> items;
  static_cast<void>(map.list<int>(key, at_least(0)));
  if (const YamlValue* list = map.find(key)) {
    for (const YamlValue& item : list->items) items.push_back(&item);
  }
  return items;
}

/// What hangs at a switch.
struct WrittenPort {
  const YamlValue* at = nullptr;
  std::vector<const YamlValue*> nodes;
  std::vector<const YamlValue*> nics;
};

const Fields<WrittenPort>& hanging_fields() {
  static const ValueInfo numbers = list_of(value_info(at_least(0)));
  static const Fields<WrittenPort> fields = {
      "ports",
      "which NICs hang where",
      {switch_name("switch", &WrittenPort::at, "their switch"),
       {{"nodes", required, "numbers of machines", numbers},
        [](YamlMap& map, WrittenPort& port) {
          map.require_value("nodes", "a list such as [0, 1]");
          port.nodes = read_numbers(map, "nodes");
        }},
       {{"nics", "all", "numbers of their NICs", numbers},
        [](YamlMap& map, WrittenPort& port) { port.nics = read_numbers(map, "nics"); }}}};
  return fields;
}

/// The keys of a file that say what the network is.
struct WrittenNetwork {
  std::string name;
  std::string source;
  std::vector<WrittenSwitch> switches;
  std::vector<Cables> trunks;
  std::vector<WrittenPort> ports;
};

const Fields<WrittenNetwork>& network_fields() {
  using Network = WrittenNetwork;
  static const Fields<Network> fields = {
      "network",
      "switches, what joins them and what hangs there",
      {field("name", &Network::name, "its own", {}, required),
       field("source", &Network::source, "where it is known from", {}, required),
       inside("switches", &Network::switches, switch_fields, "by name", required),
       {{"trunks", "none", "between them", list_of(mapping_of(cables_fields))},
        [](YamlMap& map, Network& network) {
          for (YamlMap& item : map.maps("trunks")) {
            refuse_two_way(item);
            cables_fields().read_all(std::move(item), network.trunks.emplace_back());
          }
        }},
       inside("ports", &Network::ports, hanging_fields, "of machines", required)}};
  return fields;
}

}  // namespace

std::vector<KeyInfo> NetworkFile::keys() {
  return network_fields().keys();
}

NetworkFile::NetworkFile(YamlMap& document) {
  WrittenNetwork written;
  network_fields().read(document, written);
  name_ = written.name;
  where_ = document.find("ports")->where;
  std::vector<std::string> names;
  for (const WrittenSwitch& made : written.switches) {
    if (made.id.empty() || made.id.starts_with("node") ||
        std::ranges::find(names, made.id) != names.end()) {
      throw ConfigError(made.where,
                        fmt::format("switch '{}' is not new; expected a name of its own that does "
                                    "not begin as a node's",
                                    made.id));
    }
    names.push_back(made.id);
    switches_.add_switch(made.id);
  }
  const auto switch_of = [&](const YamlValue& name, const std::string& key) {
    const auto found = std::ranges::find(names, name.text);
    if (found == names.end()) fail_choice(name, key, names);
    return static_cast<Fabric::SwitchId>(found - names.begin());
  };
  for (Cables& cables : written.trunks) {
    const auto a = switch_of(*cables.a, "a");
    const auto b = switch_of(*cables.b, "b");
    if (a == b) {
      throw ConfigError(cables.b->where, "the trunk ends where it begins; expected another switch");
    }
    cables.link.kind = LinkKind::network;
    for (int i = 0; i < cables.count; ++i) switches_.connect(a, b, cables.link);
  }
  for (WrittenPort& port : written.ports) {
    ports_.push_back({switch_of(*port.at, "switch"), std::move(port.nodes), std::move(port.nics)});
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
