#include "sim/config/collective/collective_measurements_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire::config {
namespace {

const std::vector<std::string>& role_names() {
  static const std::vector<std::string> names = {"calibrate", "score", "show"};
  return names;
}

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> names = {"a", "b", "c", "e"};
  return names;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : collective_kinds()) names.emplace_back(gradwire::name_of(kind));
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

std::map<std::string, MeasurementRole> read_parts(YamlMap map) {
  std::map<std::string, MeasurementRole> parts;
  for (const std::string& part : part_names()) {
    if (map.find(part) == nullptr) continue;
    parts[part] = measurement_role(map.require_choice(part, role_names()));
  }
  map.finish();
  return parts;
}

std::pair<Bytes, Bytes> read_fitted(YamlMap& map) {
  const auto from = map.require<Bytes>("from");
  const auto last = map.require<Bytes>("to", at_least(from));
  map.finish();
  return {from, last};
}

std::string choice_of(const YamlValue& value, const std::string& name,
                      const std::vector<std::string>& known) {
  if (std::ranges::find(known, value.text) == known.end()) fail_choice(value, name, known);
  return value.text;
}

/// [size, time], with a spread or with algorithm and protocol behind.
void read_row(const YamlValue& row, bool choices, MeasuredCollective& table) {
  static const std::vector<std::string> algorithms = algorithm_names();
  static const std::vector<std::string> protocols = {"ll", "ll128", "simple"};
  const std::size_t columns = row.kind == YamlValue::Kind::list ? row.items.size() : 0;
  if (choices ? columns != 4 : columns != 2 && columns != 3) {
    throw ConfigError(row.where, choices ? "a row is [size, time, algorithm, protocol]"
                                         : "a row is [size, time] or [size, time, spread], such as "
                                           "[1 MiB, 70 us, 1.5 %]");
  }
  MeasuredRow read;
  read.size = read_value(row.items[0], "size", above(Bytes{0}));
  read.time = read_value(row.items[1], "time", above(Seconds{0}));
  double spread = 0;
  if (choices) {
    read.algorithm = choice_of(row.items[2], "algorithm", algorithms);
    read.protocol = choice_of(row.items[3], "protocol", protocols);
  } else if (columns == 3) {
    const Ratio ratio = read_value(row.items[2], "spread", at_least(Ratio{0}));
    spread = ratio.value;
  }
  if (!table.series.rows.empty() && read.size <= table.series.rows.back().size) {
    throw ConfigError(row.items[0].where,
                      "'size' is not above the row before; expected rows in rising order of size");
  }
  table.series.rows.push_back(std::move(read));
  table.spreads.push_back(spread);
}

void read_rows(YamlMap& map, bool choices, MeasuredCollective& table) {
  const YamlValue& rows = map.require_value("rows", "a list of rows such as [1 MiB, 70 us]");
  if (rows.kind != YamlValue::Kind::list || rows.items.empty()) {
    map.fail("rows", "'rows' is no list of measurements; expected rows such as [1 MiB, 70 us]");
  }
  for (const YamlValue& row : rows.items) read_row(row, choices, table);
}

/// What `collective:` says of itself, for the reader of a report.
void read_library_name(YamlMap& map, MeasuredCollective& table) {
  YamlMap library = map.require_map("collective");
  table.library_name = library.require<std::string>("library");
  table.version = library.value_or<std::string>("version", "");
}

MeasuredCollective read_table(YamlMap& map, bool choices) {
  static const std::vector<std::string> kinds = kind_names();
  MeasuredCollective table;
  table.id = map.require<std::string>("id");
  table.source = map.require<std::string>("source");
  table.hardware = map.require<std::string>("hardware");
  table.note = map.value_or<std::string>("note", "");
  table.missing = map.value_or<std::string>("missing", "");
  if (!choices) {
    table.family = map.require<std::string>("family");
    table.parts = read_parts(map.require_map("parts"));
    for (YamlMap& fitted : map.maps("fitted")) table.fitted.push_back(read_fitted(fitted));
  }
  table.series.op = collective_kind(map.require_choice("op", kinds)).value();
  table.series.ranks = map.require<int>("ranks", at_least(2));
  const ClusterSpec spec = read_cluster(map);
  table.cluster = spec.cluster;
  table.placement = read_placement(map, spec);
  table.series.machines = spec.cluster->node_count();
  if (static_cast<int>(table.placement.size()) != table.series.ranks) {
    map.fail("ranks", fmt::format("'ranks' is {}, but the cluster has {} GPUs in use; expected the "
                                  "same number",
                                  table.series.ranks, table.placement.size()));
  }
  read_library_name(map, table);
  std::vector<Warning> ignored;  // a version that is approximated: the report shows how well
  table.library = read_collective(map, table.cluster, ignored);
  read_rows(map, choices, table);
  map.finish();
  return table;
}

std::vector<MeasuredCollective> read_tables(YamlMap& map, const std::string& key,
                                            std::set<std::string>& ids) {
  std::vector<MeasuredCollective> tables;
  for (YamlMap& entry : map.maps(key)) {
    tables.push_back(read_table(entry, key == "choices"));
    if (!ids.insert(tables.back().id).second) {
      entry.fail("id", fmt::format("a second table '{}'; expected each id once", tables.back().id));
    }
  }
  return tables;
}

}  // namespace

std::string name_of(MeasurementRole role) {
  return role_names()[static_cast<std::size_t>(role)];
}

MeasurementRole measurement_role(const std::string& name) {
  const auto found = std::ranges::find(role_names(), name);
  return static_cast<MeasurementRole>(found - role_names().begin());
}

CollectiveMeasurements read_collective_measurements(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.collective_measurements/1");
  CollectiveMeasurements read;
  std::set<std::string> ids;
  read.tables = read_tables(map, "tables", ids);
  read.choices = read_tables(map, "choices", ids);
  for (YamlMap& entry : map.maps("skipped")) {
    for (const char* key : {"id", "why"}) entry.require<std::string>(key);
    entry.finish();
  }
  map.finish();
  return read;
}

}  // namespace gradwire::config
