#include "sim/config/collective/collective_measurements_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire::config {
namespace {

const std::vector<std::string>& role_names() {
  static const std::vector<std::string> names = {"calibrate", "score", "show"};
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

using Parts = std::map<std::string, MeasurementRole>;

const Fields<Parts>& parts_of_measurement_fields() {
  static const Fields<Parts> fields = [] {
    std::vector<Field<Parts>> all;
    for (const std::string part : {"a", "b", "c", "e"}) {
      all.push_back({{part, "it takes no part", "how it takes part there", among(role_names())},
                     [part](YamlMap& map, Parts& parts) {
                       if (map.find(part) == nullptr) return;
                       parts[part] = measurement_role(map.require_choice(part, role_names()));
                     }});
    }
    return Fields<Parts>("parts_of_page", "parts of results/reference/collectives.md", all);
  }();
  return fields;
}

using SizeRange = std::pair<Bytes, Bytes>;

const Fields<SizeRange>& fitted_fields() {
  static const Fields<SizeRange> fields = {
      "fitted_sizes",
      "sizes that a constant of the library's model was fitted to",
      {field("from", &SizeRange::first, "the first", {}, required),
       {{"to", required, "the last", value_info<Bytes>()}, [](YamlMap& map, SizeRange& range) {
          range.second = map.require<Bytes>("to", at_least(range.first));
        }}}};
  return fields;
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

using Measured = MeasuredCollective;

/// A table's keys, and those of what a library printed of its choices.
std::vector<Field<Measured>> common_fields(const std::string& row) {
  std::vector<std::pair<std::string, CollectiveKind>> kinds;
  for (const CollectiveKind kind : collective_kinds()) {
    kinds.emplace_back(gradwire::name_of(kind), kind);
  }
  return {
      field("id", &Measured::id, "its own", {}, required),
      field("source", &Measured::source, "where it was published", {}, required),
      field("hardware", &Measured::hardware, "in the source's words", {}, required),
      field("note", &Measured::note, "for readers", {}, "none"),
      field("missing", &Measured::missing, "mechanism thought to be missing", {}, "none"),
      part(&Measured::series, choice("op", &MeasuredSeries::op, kinds, "the collective", required)),
      part(&Measured::series,
           field("ranks", &MeasuredSeries::ranks, "of the job", at_least(2), required)),
      declared<Measured>({"cluster", required, "as in a scenario", mapping_of(cluster_section)}),
      declared<Measured>(
          {"placement", "packed", "as in a scenario", {.type = ValueInfo::Type::any}}),
      declared<Measured>(
          {"collective", required, "as in a scenario", mapping_of(collective_section)}),
      declared<Measured>({"rows", required, row, list_of({.type = ValueInfo::Type::any})})};
}

const Fields<Measured>& table_fields() {
  static const Fields<Measured> fields = [] {
    auto all = common_fields("[size, time] or [size, time, spread]: [1 MiB, 70 us, 1.5 %]");
    all.push_back(
        field("family", &Measured::family, "tables of one machine and library", {}, required));
    all.push_back(
        inside("parts", &Measured::parts, parts_of_measurement_fields, "of the page", required));
    all.push_back(inside("fitted", &Measured::fitted, fitted_fields, "not scored"));
    return Fields<Measured>("measured_tables", "a published table of a collective", all);
  }();
  return fields;
}

const Fields<Measured>& choice_fields() {
  static const Fields<Measured> fields = {"measured_choices",
                                          "what a library printed of its choices",
                                          common_fields("[size, time, algorithm, protocol]")};
  return fields;
}

const Fields<Measured>& fields_of(bool choices) {
  return choices ? choice_fields() : table_fields();
}

/// A table that is left out.
struct Skipped {
  std::string id;
  std::string why;
};

const Fields<Skipped>& skipped_fields() {
  static const Fields<Skipped> fields = {"skipped",
                                         "a table that is left out",
                                         {field("id", &Skipped::id, "its own", {}, required),
                                          field("why", &Skipped::why, "it is", {}, required)}};
  return fields;
}

MeasuredCollective read_table(YamlMap& map, bool choices) {
  MeasuredCollective table;
  fields_of(choices).read(map, table);
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

/// A list of tables, each of whose names is new in the file.
void read_tables(YamlMap& map, const std::string& key, const CollectiveMeasurements& all,
                 std::vector<MeasuredCollective>& tables) {
  const auto has = [](const std::vector<MeasuredCollective>& list, const std::string& id) {
    return std::ranges::find(list, id, &Measured::id) != list.end();
  };
  for (YamlMap& entry : map.maps(key)) {
    MeasuredCollective table = read_table(entry, key == "choices");
    if (has(all.tables, table.id) || has(all.choices, table.id)) {
      entry.fail("id", fmt::format("a second table '{}'; expected each id once", table.id));
    }
    tables.push_back(std::move(table));
  }
}

const Fields<CollectiveMeasurements>& file_of_measurements_fields() {
  using File = CollectiveMeasurements;
  static const Fields<File> fields = {
      "measurements_file",
      "published times of collectives",
      {{{"tables", "none", "of times", list_of(mapping_of(table_fields))},
        [](YamlMap& map, File& file) { read_tables(map, "tables", file, file.tables); }},
       {{"choices", "none", "of what a library chose", list_of(mapping_of(choice_fields))},
        [](YamlMap& map, File& file) { read_tables(map, "choices", file, file.choices); }},
       {{"skipped", "none", "what is left out, and why", list_of(mapping_of(skipped_fields))},
        [](YamlMap& map, File& /*file*/) {
          for (YamlMap& entry : map.maps("skipped")) {
            Skipped skipped;
            skipped_fields().read_all(std::move(entry), skipped);
          }
        }}}};
  return fields;
}

}  // namespace

std::string name_of(MeasurementRole role) {
  return role_names()[static_cast<std::size_t>(role)];
}

MeasurementRole measurement_role(const std::string& name) {
  const auto found = std::ranges::find(role_names(), name);
  return static_cast<MeasurementRole>(found - role_names().begin());
}

Section measurements_section() {
  return file_of_measurements_fields().section();
}

CollectiveMeasurements read_collective_measurements(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.collective_measurements/1");
  CollectiveMeasurements read;
  file_of_measurements_fields().read_all(std::move(map), read);
  return read;
}

}  // namespace gradwire::config
