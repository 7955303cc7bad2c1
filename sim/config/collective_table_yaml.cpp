#include "sim/config/collective_table_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/yaml_map.hpp"

namespace gradwire::config {
namespace {

/// Where the numbers come from; for the reader of the file, the prices need none of it.
void check_source(YamlMap map) {
  static const std::vector<std::string> kinds = {"recorded", "imported", "derived"};
  map.require_choice("kind", kinds);
  map.require<std::string>("file");
  for (const char* key : {"tool", "date", "notes"}) map.optional<std::string>(key);
  map.finish();
}

MeasuredRow read_row(YamlMap map) {
  static const std::vector<std::string> algorithms = {"ring", "tree"};
  static const std::vector<std::string> protocols = {"ll", "ll128", "simple"};
  const auto choice = [&map](const std::string& key, const std::vector<std::string>& known) {
    return map.find(key) != nullptr ? map.require_choice(key, known) : "";
  };
  MeasuredRow row;
  row.size = map.require<Bytes>("size", above(Bytes{0}));
  row.time = map.require<Seconds>("time", above(Seconds{0}));
  row.algorithm = choice("algorithm", algorithms);
  row.protocol = choice("protocol", protocols);
  map.finish();
  return row;
}

MeasuredSeries read_series(YamlMap& map) {
  static const std::vector<std::string> ops = {"all_reduce", "broadcast"};
  MeasuredSeries series;
  const bool is_all_reduce = map.require_choice("op", ops) == "all_reduce";
  series.op = is_all_reduce ? CollectiveKind::all_reduce : CollectiveKind::broadcast;
  series.ranks = map.require<int>("ranks", at_least(2));
  series.machines = map.require<int>("nodes", between(1, series.ranks));
  for (const char* key : {"version", "network"}) map.optional<std::string>(key);
  check_source(map.require_map("source"));
  map.require_value("rows", "a list of rows such as {size: 1 MiB, time: 70 us}");
  for (const YamlMap& row : map.maps("rows")) {
    series.rows.push_back(read_row(row));
    const std::size_t last = series.rows.size() - 1;
    if (last > 0 && series.rows[last].size <= series.rows[last - 1].size) {
      row.fail("size", "'size' is not above the row before; expected rows in rising order of size");
    }
  }
  if (series.rows.empty()) map.fail("rows", "'rows' is empty; expected at least one row");
  map.finish();
  return series;
}

bool same_case(const MeasuredSeries& a, const MeasuredSeries& b) {
  return a.op == b.op && a.ranks == b.ranks && a.machines == b.machines;
}

}  // namespace

std::vector<MeasuredSeries> read_collective_series(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.collective_table/1");
  map.require<std::string>("library");
  for (const char* key : {"node", "gpu", "notes"}) map.optional<std::string>(key);
  map.require_value("entries", "a list of measured collectives");
  std::vector<MeasuredSeries> table;
  for (YamlMap& entry : map.maps("entries")) {
    MeasuredSeries series = read_series(entry);
    if (std::any_of(table.begin(), table.end(),
                    [&](const MeasuredSeries& known) { return same_case(known, series); })) {
      entry.fail("op", fmt::format("a second entry for {} ranks on {} nodes; expected one an op",
                                   series.ranks, series.machines));
    }
    table.push_back(std::move(series));
  }
  map.finish();
  return table;
}

std::shared_ptr<const CollectiveLibrary> read_collective_table(
    const std::string& file, std::shared_ptr<const CollectiveLibrary> fallback) {
  return std::make_shared<MeasuredTable>(read_collective_series(load_yaml(file)),
                                         std::move(fallback));
}

}  // namespace gradwire::config
