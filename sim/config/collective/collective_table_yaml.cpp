#include "sim/config/collective/collective_table_yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::config {
namespace {

constexpr const char* collective_table_schema = "gradwire.collective_table/1";

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const CollectiveKind kind : collective_kinds()) all.emplace_back(name_of(kind));
    return all;
  }();
  return names;
}

/// Also those that NCCL reports and nothing here plans: the row is then priced, and run by what the
/// library plans.
const std::vector<std::string>& algorithm_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"tree", "collnet_direct", "collnet_chain",
                                    "nvls", "nvls_tree",      "pat"};
    for (const Algorithm& algorithm : algorithms()) {
      if (std::ranges::find(all, algorithm.name) == all.end()) all.emplace_back(algorithm.name);
    }
    return all;
  }();
  return names;
}

const std::vector<std::string>& protocol_names() {
  static const std::vector<std::string> names = {"ll", "ll128", "simple"};
  return names;
}

std::string choice_or_none(YamlMap& map, const std::string& key,
                           const std::vector<std::string>& known) {
  return map.find(key) != nullptr ? map.require_choice(key, known) : "";
}

TableSource read_source(YamlMap map) {
  static const std::vector<std::string> kinds = {"recorded", "imported", "derived"};
  TableSource source;
  source.kind = map.require_choice("kind", kinds);
  source.file = map.require<std::string>("file");
  source.tool = map.value_or<std::string>("tool", "");
  source.date = map.value_or<std::string>("date", "");
  source.notes = map.value_or<std::string>("notes", "");
  map.finish();
  return source;
}

MeasuredRow read_row(YamlMap map) {
  MeasuredRow row;
  row.size = map.require<Bytes>("size", above(Bytes{0}));
  row.time = map.require<Seconds>("time", above(Seconds{0}));
  row.algorithm = choice_or_none(map, "algorithm", algorithm_names());
  row.protocol = choice_or_none(map, "protocol", protocol_names());
  row.channels = map.value_or<int>("channels", 0, at_least(1));
  map.finish();
  return row;
}

MeasuredSeries read_series(YamlMap& map) {
  MeasuredSeries series;
  series.op = collective_kind(map.require_choice("op", operation_names())).value();
  series.ranks = map.require<int>("ranks", at_least(2));
  series.machines = map.require<int>("nodes", between(1, series.ranks));
  series.in_place = map.value_or("in_place", false);
  series.version = map.value_or<std::string>("version", "");
  series.network = map.value_or<std::string>("network", "");
  series.source = read_source(map.require_map("source"));
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

FitSegment read_segment(YamlMap map, HopClass hops) {
  FitSegment segment;
  segment.chunk_first = map.require<Bytes>("from");
  segment.chunk_last = map.require<Bytes>("to", at_least(segment.chunk_first));
  segment.algorithm = choice_or_none(map, "algorithm", algorithm_names());
  segment.protocol = choice_or_none(map, "protocol", protocol_names());
  segment.rows = map.require<int>("rows", at_least(1));
  segment.launch = map.require<Seconds>("launch");
  segment.hop_local = map.require<Seconds>("hop_local");
  if (hops == HopClass::network) segment.hop_network = map.require<Seconds>("hop_network");
  segment.link_time = map.require<Ratio>("link_time").value;
  const auto pass = map.optional<BytesPerSecond>("local_pass", above(BytesPerSecond{0}));
  if (pass) segment.local_pass = Seconds{1 / pass->count()};
  map.finish();
  return segment;
}

CollectiveFit read_fit(YamlMap& map) {
  static const std::vector<std::string> classes = [] {
    std::vector<std::string> all;
    all.reserve(hop_classes.size());
    for (const HopClass hops : hop_classes) all.emplace_back(name_of(hops));
    return all;
  }();
  CollectiveFit fit;
  fit.op = collective_kind(map.require_choice("op", operation_names())).value();
  fit.hops = hop_class(map.require_choice("hops", classes)).value();
  fit.ranks = map.list<int>("ranks", at_least(2));
  if (fit.ranks.empty()) map.fail("ranks", "'ranks' is empty; expected those that were fitted");
  YamlMap residual = map.require_map("residual");
  fit.residual_p50 = residual.require<Ratio>("p50").value;
  fit.residual_p95 = residual.require<Ratio>("p95").value;
  residual.finish();
  map.require_value("segments", "a list of segments, one a protocol");
  for (const YamlMap& segment : map.maps("segments")) {
    fit.segments.push_back(read_segment(segment, fit.hops));
  }
  if (fit.segments.empty()) map.fail("segments", "'segments' is empty; expected at least one");
  map.finish();
  return fit;
}

std::string optional_text(const char* key, const std::string& value) {
  return value.empty() ? "" : fmt::format("{}: {}\n", key, yaml_quoted(value));
}

/// `key: name` of a flow mapping, names being plain words.
std::string name_part(const char* key, const std::string& name) {
  return name.empty() ? "" : fmt::format(", {}: {}", key, name);
}

std::string time_text(Seconds time) {
  return fmt::format("{:.10g} us", time.count() * 1e6);
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.7g} %", 100 * ratio);
}

std::string series_text(const MeasuredSeries& series) {
  std::string text = fmt::format("  - op: {}\n    ranks: {}\n    nodes: {}\n", name_of(series.op),
                                 series.ranks, series.machines);
  if (series.in_place) text += "    in_place: true\n";
  if (!series.version.empty()) text += "    " + optional_text("version", series.version);
  if (!series.network.empty()) text += "    " + optional_text("network", series.network);
  text += fmt::format("    source:\n      kind: {}\n      file: {}\n", series.source.kind,
                      yaml_quoted(series.source.file));
  const auto add = [&text](const char* key, const std::string& value) {
    if (!value.empty()) text += "      " + optional_text(key, value);
  };
  add("tool", series.source.tool);
  add("date", series.source.date);
  add("notes", series.source.notes);
  text += "    rows:\n";
  for (const MeasuredRow& row : series.rows) {
    text +=
        fmt::format("      - {{size: {}, time: {}{}{}", bound_text(row.size), time_text(row.time),
                    name_part("algorithm", row.algorithm), name_part("protocol", row.protocol));
    if (row.channels > 0) text += fmt::format(", channels: {}", row.channels);
    text += "}\n";
  }
  return text;
}

std::string segment_text(const FitSegment& segment, HopClass hops) {
  std::string text = fmt::format(
      "      - {{from: {}, to: {}, rows: {}{}{}, launch: {}, hop_local: {}",
      bound_text(segment.chunk_first), bound_text(segment.chunk_last), segment.rows,
      name_part("algorithm", segment.algorithm), name_part("protocol", segment.protocol),
      time_text(segment.launch), time_text(segment.hop_local));
  if (hops == HopClass::network) text += ", hop_network: " + time_text(segment.hop_network);
  text += ", link_time: " + ratio_text(segment.link_time);
  if (segment.local_pass.count() > 0) {
    text += fmt::format(", local_pass: {:.7g} GB/s", 1e-9 / segment.local_pass.count());
  }
  return text + "}\n";
}

std::string fit_text(const CollectiveFit& fit) {
  std::string text = fmt::format(
      "  - op: {}\n    hops: {}\n    ranks: [{}]\n    residual: {{p50: {}, p95: {}}}\n"
      "    segments:\n",
      name_of(fit.op), name_of(fit.hops), fmt::join(fit.ranks, ", "), ratio_text(fit.residual_p50),
      ratio_text(fit.residual_p95));
  for (const FitSegment& segment : fit.segments) text += segment_text(segment, fit.hops);
  return text;
}

}  // namespace

CollectiveTable read_collective_table(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(collective_table_schema);
  CollectiveTable table;
  table.library = map.require<std::string>("library");
  table.node = map.value_or<std::string>("node", "");
  table.gpu = map.value_or<std::string>("gpu", "");
  table.notes = map.value_or<std::string>("notes", "");
  map.require_value("entries", "a list of measured collectives");
  for (YamlMap& entry : map.maps("entries")) {
    MeasuredSeries series = read_series(entry);
    if (std::ranges::any_of(
            table.series, [&](const MeasuredSeries& known) { return same_case(known, series); })) {
      entry.fail("op", fmt::format("a second entry for {} ranks on {} nodes; expected one an op",
                                   series.ranks, series.machines));
    }
    table.series.push_back(std::move(series));
  }
  for (YamlMap& entry : map.maps("fits")) {
    CollectiveFit fit = read_fit(entry);
    if (std::ranges::any_of(table.fits, [&](const CollectiveFit& known) {
          return known.op == fit.op && known.hops == fit.hops;
        })) {
      entry.fail("op", fmt::format("a second fit for {} over {}; expected one", name_of(fit.op),
                                   name_of(fit.hops)));
    }
    table.fits.push_back(std::move(fit));
  }
  map.finish();
  return table;
}

std::string write_collective_table(const CollectiveTable& table,
                                   std::span<const std::string> comments) {
  std::string text;
  for (const std::string& comment : comments) text += plain_format("# {}\n", comment);
  text += fmt::format("schema: {}\nlibrary: {}\n", collective_table_schema, table.library);
  text += optional_text("node", table.node) + optional_text("gpu", table.gpu) +
          optional_text("notes", table.notes);
  text += "entries:\n";
  for (const MeasuredSeries& series : table.series) text += series_text(series);
  if (!table.fits.empty()) text += "fits:\n";
  for (const CollectiveFit& fit : table.fits) text += fit_text(fit);
  return text;
}

KeyInfo table_key() {
  return {"table", "none",
          "measurements that replace the model where they cover it: `gradwire list collectives`, "
          "or a path"};
}

std::shared_ptr<const CollectiveLibrary> with_table(
    YamlMap& map, const std::string& library, std::shared_ptr<const Cluster> cluster,
    std::shared_ptr<const CollectiveLibrary> fallback) {
  const YamlValue* name = map.find("table");
  if (name == nullptr) return fallback;
  const YamlValue& document = loaded_yaml(find_data(DataKind::collective_table, *name, "table"));
  CollectiveTable table = read_collective_table(document);
  if (table.library != library) {
    YamlMap(document).fail("library", fmt::format("the table is of library '{}'; expected one of "
                                                  "'{}', which 'collective.library' names",
                                                  table.library, library));
  }
  return std::make_shared<MeasuredTable>(std::move(table), std::move(cluster), std::move(fallback));
}

}  // namespace gradwire::config
