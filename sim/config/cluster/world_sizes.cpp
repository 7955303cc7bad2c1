#include "sim/config/cluster/world_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

constexpr const char* sizes_key = "world_sizes";

/// Machines that are alike.
struct Machines {
  int count = 1;
  int gpus = 1;  ///< of each
};

Machines machines_of(const YamlValue& scenario, const SourceLocation& where) {
  YamlMap map(scenario);
  YamlMap cluster = map.require_map("cluster");
  const auto alike = [&] {
    return !cluster.has("groups") && !cluster.has("topology") && !map.has("placement");
  };
  if (!alike()) {
    throw ConfigError(where, fmt::format("'{}' counts machines that are alike; expected a cluster "
                                         "of 'node' and 'nodes' without 'placement'",
                                         sizes_key));
  }
  const ClusterSpec spec = read_cluster(map, std::nullopt);
  return {static_cast<int>(spec.gpus.size()), spec.gpus.front()};
}

YamlEntry entry(const std::string& name, std::string text, const SourceLocation& where,
                bool quoted = false) {
  YamlValue value;
  value.kind = YamlValue::Kind::scalar;
  value.text = std::move(text);
  value.quoted = quoted;
  value.where = where;
  return {name, where, std::move(value)};
}

YamlValue point(const std::string& label, const Machines& job, const SourceLocation& where) {
  YamlValue value;
  value.kind = YamlValue::Kind::map;
  value.where = where;
  value.entries = {entry("label", label, where, true),
                   entry("cluster.nodes", fmt::format("{}", job.count), where),
                   entry("cluster.gpus_per_node", fmt::format("{}", job.gpus), where)};
  return value;
}

std::vector<Machines> all_sizes(const Machines& machines) {
  std::vector<Machines> jobs;
  for (int gpus = 1; gpus < machines.gpus; gpus *= 2) jobs.push_back({1, gpus});
  for (int count = 1; count <= machines.count; ++count) jobs.push_back({count, machines.gpus});
  return jobs;
}

Machines job_of(const YamlValue& item, const Machines& machines) {
  const int most = machines.count * machines.gpus;
  const int size = read_value(item, sizes_key, between(1, most));
  if (size <= machines.gpus) return {1, size};
  if (size % machines.gpus != 0) {
    throw ConfigError(item.where,
                      fmt::format("{} GPUs are not whole machines; expected at most {}, or a "
                                  "multiple of it up to {}",
                                  size, machines.gpus, most));
  }
  return {size / machines.gpus, machines.gpus};
}

}  // namespace

YamlValue points_of_world_sizes(const YamlValue& scenario, const YamlValue& points) {
  YamlMap map(points, "points");
  const YamlValue& sizes = map.require_value(sizes_key, "auto, or a list of numbers of GPUs");
  map.finish();
  const Machines machines = machines_of(scenario, sizes.where);
  std::vector<Machines> jobs;
  if (sizes.kind == YamlValue::Kind::list && !sizes.items.empty()) {
    for (const YamlValue& item : sizes.items) jobs.push_back(job_of(item, machines));
  } else if (sizes.kind == YamlValue::Kind::scalar && sizes.text == "auto") {
    jobs = all_sizes(machines);
  } else {
    throw ConfigError(sizes.where, fmt::format("'{}' is {}; expected auto, or a list of numbers of "
                                               "GPUs",
                                               sizes_key, describe(sizes)));
  }
  YamlValue list;
  list.kind = YamlValue::Kind::list;
  list.where = sizes.where;
  const std::string strategy = strategy_named(scenario);
  if (strategy != "none") {
    list.items.push_back(point("no " + strategy, {1, 1}, sizes.where));
    list.items.back().entries.push_back(entry("strategy.name", "none", sizes.where));
  }
  for (const Machines& job : jobs) {
    list.items.push_back(point(fmt::format("{}M/{}G", job.count, job.gpus), job, sizes.where));
  }
  return list;
}

}  // namespace gradwire::config
