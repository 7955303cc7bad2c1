#include "sim/config/collective/collective_table_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::config {
namespace {

constexpr const char* collective_table_schema = "gradwire.collective_table/1";

const std::vector<std::pair<std::string, CollectiveKind>>& operations() {
  static const std::vector<std::pair<std::string, CollectiveKind>> all = [] {
    std::vector<std::pair<std::string, CollectiveKind>> named;
    for (const CollectiveKind kind : collective_kinds()) named.emplace_back(name_of(kind), kind);
    return named;
  }();
  return all;
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

const Fields<TableSource>& table_source_fields() {
  static const Fields<TableSource> fields = {
      "table_source",
      "where measured times come from",
      {word("kind", &TableSource::kind, {"recorded", "imported", "derived"}, "how they were made",
            required),
       field("file", &TableSource::file, "that has them", {}, required),
       field("tool", &TableSource::tool, "that measured"),
       field("date", &TableSource::date, "of the measurement"),
       field("notes", &TableSource::notes, "of whoever measured")}};
  return fields;
}

const Fields<MeasuredRow>& row_fields() {
  static const Fields<MeasuredRow> fields = {
      "measured_rows",
      "times by size",
      {field("size", &MeasuredRow::size, "above the row before", above(Bytes{0}), required),
       field("time", &MeasuredRow::time, "of one call", above(Seconds{0}), required),
       word("algorithm", &MeasuredRow::algorithm, algorithm_names(), "that ran", "not known"),
       word("protocol", &MeasuredRow::protocol, protocol_names(), "that ran", "not known"),
       field("channels", &MeasuredRow::channels, "that worked", at_least(1), "not known")}};
  return fields;
}

void read_rows_of(YamlMap& map, MeasuredSeries& series) {
  map.require_value("rows", "a list of rows such as {size: 1 MiB, time: 70 us}");
  for (YamlMap& row : map.maps("rows")) {
    row_fields().read_all(row, series.rows.emplace_back());
    const std::size_t last = series.rows.size() - 1;
    if (last > 0 && series.rows[last].size <= series.rows[last - 1].size) {
      row.fail("size", "'size' is not above the row before; expected rows in rising order of size");
    }
  }
  if (series.rows.empty()) map.fail("rows", "'rows' is empty; expected at least one row");
}

const Fields<MeasuredSeries>& entry_fields() {
  static const Fields<MeasuredSeries> fields = {
      "entries",
      "a collective that was measured on a job of a shape",
      {choice("op", &MeasuredSeries::op, operations(), "what was measured", required),
       field("ranks", &MeasuredSeries::ranks, "of the job", at_least(2), required),
       {{"nodes", required, "at most the ranks", value_info(at_least(1))},
        [](YamlMap& map, MeasuredSeries& series) {
          series.machines = map.require<int>("nodes", between(1, series.ranks));
        }},
       field("in_place", &MeasuredSeries::in_place, "as nccl-tests' column of that name"),
       field("version", &MeasuredSeries::version, "of the library"),
       field("network", &MeasuredSeries::network, "for readers"),
       inside("source", &MeasuredSeries::source, table_source_fields, "where from", required),
       {{"rows", required, "in rising order of size", list_of(mapping_of(row_fields))},
        read_rows_of}}};
  return fields;
}

bool same_case(const MeasuredSeries& a, const MeasuredSeries& b) {
  return a.op == b.op && a.ranks == b.ranks && a.machines == b.machines;
}

const Fields<FitSegment>& segment_fields() {
  static const Fields<FitSegment> fields = {
      "segments",
      "a fit's constants for chunks of some sizes",
      {field("from", &FitSegment::chunk_first, "the smallest chunk", {}, required),
       {{"to", required, "the largest, at least that", value_info<Bytes>()},
        [](YamlMap& map, FitSegment& segment) {
          segment.chunk_last = map.require<Bytes>("to", at_least(segment.chunk_first));
        }},
       word("algorithm", &FitSegment::algorithm, algorithm_names(), "of its rows", "any"),
       word("protocol", &FitSegment::protocol, protocol_names(), "of its rows", "any"),
       field("rows", &FitSegment::rows, "that it was fitted to", at_least(1), required),
       field("launch", &FitSegment::launch, "time to start", {}, required),
       field("hop_local", &FitSegment::hop_local, "a step's latency in a machine", {}, required),
       {{"hop_network", "required with `hops: network`", "and between machines",
         value_info<Seconds>()}},
       share("link_time", &FitSegment::link_time, "of the links' own time", {}, required),
       {{"local_pass", "none", "rate of what passes a GPU beside the links",
         value_info(above(BytesPerSecond{0}))},
        [](YamlMap& map, FitSegment& segment) {
          const auto pass = map.optional<BytesPerSecond>("local_pass", above(BytesPerSecond{0}));
          if (pass) segment.local_pass = Seconds{1 / pass->count()};
        }}}};
  return fields;
}

void read_segments(YamlMap& map, CollectiveFit& fit) {
  map.require_value("segments", "a list of segments, one a protocol");
  for (YamlMap& each : map.maps("segments")) {
    FitSegment& segment = fit.segments.emplace_back();
    segment_fields().read(each, segment);
    if (fit.hops == HopClass::network) segment.hop_network = each.require<Seconds>("hop_network");
    each.finish();
  }
  if (fit.segments.empty()) map.fail("segments", "'segments' is empty; expected at least one");
}

const Fields<CollectiveFit>& residual_fields() {
  static const Fields<CollectiveFit> fields = {
      "residual",
      "a fit's errors on its rows",
      {share("p50", &CollectiveFit::residual_p50, "median", {}, required),
       share("p95", &CollectiveFit::residual_p95, "95th percentile", {}, required)}};
  return fields;
}

const Fields<CollectiveFit>& fit_fields() {
  static const Fields<CollectiveFit> fields = [] {
    std::vector<std::pair<std::string, HopClass>> classes;
    classes.reserve(hop_classes.size());
    for (const HopClass hops : hop_classes) classes.emplace_back(name_of(hops), hops);
    return Fields<CollectiveFit>(
        "fits", "what sizes between and beyond the rows take",
        {choice("op", &CollectiveFit::op, operations(), "that it prices", required),
         choice("hops", &CollectiveFit::hops, classes, "the slowest on the way", required),
         {{"ranks", required, "that were fitted", list_of(value_info(at_least(2)))},
          [](YamlMap& map, CollectiveFit& fit) {
            fit.ranks = map.list<int>("ranks", at_least(2));
            if (fit.ranks.empty()) {
              map.fail("ranks", "'ranks' is empty; expected those that were fitted");
            }
          }},
         group("residual", residual_fields, "how far off", required),
         {{"segments", required, "one a protocol", list_of(mapping_of(segment_fields))},
          read_segments}});
  }();
  return fields;
}

void read_entries(YamlMap& map, CollectiveTable& table) {
  map.require_value("entries", "a list of measured collectives");
  for (YamlMap& entry : map.maps("entries")) {
    MeasuredSeries series;
    entry_fields().read_all(entry, series);
    if (std::ranges::any_of(
            table.series, [&](const MeasuredSeries& known) { return same_case(known, series); })) {
      entry.fail("op", fmt::format("a second entry for {} ranks on {} nodes; expected one an op",
                                   series.ranks, series.machines));
    }
    table.series.push_back(std::move(series));
  }
}

void read_fits(YamlMap& map, CollectiveTable& table) {
  for (YamlMap& entry : map.maps("fits")) {
    CollectiveFit fit;
    fit_fields().read_all(entry, fit);
    if (std::ranges::any_of(table.fits, [&](const CollectiveFit& known) {
          return known.op == fit.op && known.hops == fit.hops;
        })) {
      entry.fail("op", fmt::format("a second fit for {} over {}; expected one", name_of(fit.op),
                                   name_of(fit.hops)));
    }
    table.fits.push_back(std::move(fit));
  }
}

const Fields<CollectiveTable>& table_fields() {
  static const Fields<CollectiveTable> fields = {
      "collective_table",
      "measured times of collectives",
      {field("library", &CollectiveTable::library, "that ran", {}, required),
       field("node", &CollectiveTable::node, "for readers"),
       field("gpu", &CollectiveTable::gpu, "for readers"),
       field("notes", &CollectiveTable::notes, "for readers"),
       {{"entries", required, "one an op and shape", list_of(mapping_of(entry_fields))},
        read_entries},
       {{"fits", "none", "one an op and class of hops", list_of(mapping_of(fit_fields))},
        read_fits}}};
  return fields;
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
      name_of(fit.op), name_of(fit.hops), joined_by(fit.ranks, ", "), ratio_text(fit.residual_p50),
      ratio_text(fit.residual_p95));
  for (const FitSegment& segment : fit.segments) text += segment_text(segment, fit.hops);
  return text;
}

}  // namespace

Section collective_table_section() {
  return table_fields().section();
}

CollectiveTable read_collective_table(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(collective_table_schema);
  CollectiveTable table;
  table_fields().read_all(std::move(map), table);
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
