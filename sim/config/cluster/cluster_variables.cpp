#include "sim/config/cluster/cluster_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {

void check_cluster_variables(const YamlValue& strategy, const Placement& placement,
                             std::vector<Warning>& warnings) {
  constexpr std::array names = {"DMLC_NUM_WORKER", "BYTEPS_LOCAL_SIZE"};
  const auto is_told = [&](const char* name) { return strategy.find(name) != nullptr; };
  if (std::ranges::none_of(names, is_told)) return;
  std::map<int, std::int64_t> machines;  // ranks of each
  for (const auto& place : placement) ++machines[place.node];
  const auto check = [&](const std::string& name, std::int64_t count, const char* what) {
    const YamlValue* value = strategy.find(name);
    if (value == nullptr) return;
    const auto told = read_value<std::int64_t>(*value, name);
    if (told == count) return;
    warnings.push_back({"variable-contradicts-cluster",
                        fmt::format("'{}' is {}, and the cluster has {} {}: these count", name,
                                    told, count, what)});
  };
  check(names[0], static_cast<std::int64_t>(machines.size()), "machine(s) of workers");
  std::int64_t most = 0;
  for (const auto& [machine, ranks] : machines) most = std::max(most, ranks);
  check(names[1], most, "GPU(s) a machine");
}

}  // namespace gradwire::config
