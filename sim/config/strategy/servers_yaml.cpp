#include "sim/config/strategy/servers_yaml.hpp"

#include <algorithm>

namespace gradwire::config {
namespace {

constexpr int servers_max = 100'000;

}  // namespace

int ServerSpec::extra_machines(int machines) const {
  const int all = count.value_or(machines);
  const int apart = where == Where::separate ? all
                    : where == Where::mixed  ? std::max(0, all - machines)
                                             : 0;
  return (apart + per_machine - 1) / per_machine;
}

std::vector<int> ServerSpec::machines_of(int machines) const {
  std::vector<int> servers;
  for (int server = 0; server < count.value_or(machines); ++server) {
    const int apart = where == Where::separate ? server : server - machines;
    const bool own = where == Where::separate || (where == Where::mixed && apart >= 0);
    servers.push_back(own ? machines + apart / per_machine : server % machines);
  }
  return servers;
}

const Fields<ServerSpec>& servers_fields() {
  using enum ServerSpec::Where;
  static const Fields<ServerSpec> fields = {
      "servers",
      "parameter servers, of strategies that have some",
      {field("count", &ServerSpec::count, "how many there are", between(1, servers_max),
             "as many as machines"),
       choice("placement", &ServerSpec::where,
              {{"colocated", colocated}, {"separate", separate}, {"mixed", mixed}},
              "with workers, on machines of their own, or one with each worker machine and the "
              "others apart"),
       field("per_machine", &ServerSpec::per_machine,
             "on a machine of their own; `separate` and `mixed`", between(1, servers_max))}};
  return fields;
}

ServerSpec read_servers(YamlMap& strategy) {
  ServerSpec spec;
  auto map = strategy.optional_map("servers");
  if (!map) return spec;
  servers_fields().read(*map, spec);
  if (map->has("per_machine") && spec.where == ServerSpec::Where::colocated) {
    map->fail("per_machine",
              "'per_machine' is of servers on machines of their own; expected 'placement: "
              "separate' or 'mixed' beside it");
  }
  map->finish();
  return spec;
}

}  // namespace gradwire::config
