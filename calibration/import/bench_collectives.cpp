#include "calibration/import/bench_collectives.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "calibration/import/json_document.hpp"

namespace gradwire::calibration {
namespace {

void read_rows(JsonMap& map, CollectiveBench& bench) {
  std::int64_t least = 1;
  for (const JsonValue& value : map.list("rows")) {
    JsonMap entry(value, "a row");
    MeasuredRow row;
    const std::int64_t size = entry.require_whole("size_bytes", least);
    least = size + 1;
    row.size = Bytes{size};
    CallTimes calls{read_timed_calls(entry), {}};
    if (const auto predicted = entry.optional_above("predicted_us", 0)) {
      calls.predicted = Seconds{*predicted * 1e-6};
    }
    row.time = calls.pipelined.value_or(calls.p50);
    row.algorithm = bench.algorithm;
    row.protocol = bench.protocol;
    row.channels = entry.count_or("channels", 0, 0);
    entry.finish();
    bench.series.rows.push_back(std::move(row));
    bench.calls.push_back(calls);
  }
  if (bench.calls.empty()) map.fail("rows", "there is no row; expected at least one in 'rows'");
}

void read_ranks(JsonMap& map, CollectiveBench& bench) {
  bench.series.ranks = map.require_count("ranks", 2);
  bench.series.machines = map.require_count("nodes", 1);
  std::set<int> distinct;
  for (const JsonValue& machine : map.list("placement")) {
    if (!machine.whole || *machine.whole < 0 || *machine.whole >= bench.series.machines) {
      throw ConfigError(machine.where, fmt::format("a rank's machine in 'placement'; expected a "
                                                   "whole number from 0 to {}",
                                                   bench.series.machines - 1));
    }
    bench.machines.push_back(static_cast<int>(*machine.whole));
    distinct.insert(bench.machines.back());
  }
  if (std::cmp_not_equal(bench.machines.size(), bench.series.ranks) ||
      std::cmp_not_equal(distinct.size(), bench.series.machines)) {
    map.fail("placement",
             fmt::format("'placement' puts {} ranks on {} nodes; expected {} ranks on {}",
                         bench.machines.size(), distinct.size(), bench.series.ranks,
                         bench.series.machines));
  }
}

std::string forced(const std::string& name) {
  return name == "auto" ? std::string() : name;
}

}  // namespace

CollectiveBench read_bench_collectives(const std::string& text, const std::string& file) {
  static const std::vector<std::string> libraries = {"nccl", "mpi", "gloo"};
  static const std::vector<std::string> operations = [] {
    std::vector<std::string> names;
    for (const CollectiveKind kind : collective_kinds()) names.emplace_back(name_of(kind));
    return names;
  }();
  const JsonValue document = parse_json(text, file);
  JsonMap map(document);
  map.require_schema("gradwire.bench.collectives/1");
  CollectiveBench bench;
  bench.library = map.require_choice("library", libraries);
  bench.node = map.text_or("node", "");
  bench.gpu = map.text_or("gpu", "");
  bench.dtype = map.require_text("dtype");
  bench.algorithm = forced(map.require_text("algorithm"));
  bench.protocol = forced(map.require_text("protocol"));
  MeasuredSeries& series = bench.series;
  series.op =
      collective_kind(map.require_choice("op", operations)).value_or(CollectiveKind::all_reduce);
  series.in_place = map.yes_or("in_place", false);
  series.version = map.text_or("version", "");
  series.network = map.text_or("network", "");
  series.source = {"recorded",
                   std::filesystem::path(file).filename().string(),
                   map.require_text("tool"),
                   map.text_or("date", ""),
                   {}};
  read_ranks(map, bench);
  read_rows(map, bench);
  map.finish();
  return bench;
}

}  // namespace gradwire::calibration
