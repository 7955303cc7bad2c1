#include "sim/config/servers_yaml.hpp"

#include <algorithm>
#include <string>

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

ServerSpec read_servers(YamlMap& strategy) {
  ServerSpec spec;
  auto map = strategy.optional_map("servers");
  if (!map) return spec;
  static const std::vector<std::string> places = {"colocated", "separate", "mixed"};
  spec.count = map->optional<int>("count", between(1, servers_max));
  const std::string place = map->choice_or("placement", "colocated", places);
  spec.where = place == "separate" ? ServerSpec::Where::separate
               : place == "mixed"  ? ServerSpec::Where::mixed
                                   : ServerSpec::Where::colocated;
  if (map->has("per_machine") && place == "colocated") {
    map->fail("per_machine",
              "'per_machine' is of servers on machines of their own; expected 'placement: "
              "separate' or 'mixed' beside it");
  }
  spec.per_machine = map->value_or("per_machine", 1, between(1, servers_max));
  map->finish();
  return spec;
}

const char* servers_help() {
  return "{count: as many as machines, placement: colocated | separate | mixed, per_machine: 1 (on "
         "machines of their own)}";
}

}  // namespace gradwire::config
