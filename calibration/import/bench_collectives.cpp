#include "calibration/import/bench_collectives.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "calibration/import/json_file.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::calibration {
namespace {

using config::YamlMap;
using config::YamlValue;

void read_rows(YamlMap& map, CollectiveBench& bench) {
  std::int64_t least = 1;
  for (YamlMap& entry : map.maps("rows")) {
    MeasuredRow row;
    const auto size =
        entry.require<std::int64_t>("size_bytes", config::at_least<std::int64_t>(least));
    least = size + 1;
    row.size = Bytes{size};
    CallTimes calls{read_timed_calls(entry), {}};
    if (const auto predicted = entry.optional<double>("predicted_us", config::above(0.0))) {
      calls.predicted = Seconds{*predicted * 1e-6};
    }
    row.time = calls.pipelined.value_or(calls.p50);
    row.algorithm = bench.algorithm;
    row.protocol = bench.protocol;
    row.channels = entry.value_or("channels", 0, config::at_least(0));
    entry.finish();
    bench.series.rows.push_back(std::move(row));
    bench.calls.push_back(calls);
  }
  if (bench.calls.empty()) map.fail("rows", "there is no row; expected at least one in 'rows'");
}

void read_ranks(YamlMap& map, CollectiveBench& bench) {
  bench.series.ranks = map.require<int>("ranks", config::at_least(2));
  bench.series.machines = map.require<int>("nodes", config::at_least(1));
  bench.machines = map.list<int>("placement", config::between(0, bench.series.machines - 1));
  const std::set<int> distinct(bench.machines.begin(), bench.machines.end());
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
  const YamlValue document = parse_json(text, file);
  YamlMap map(document);
  map.require_schema("gradwire.bench.collectives/1");
  CollectiveBench bench;
  bench.library = map.require_choice("library", libraries);
  bench.node = map.value_or<std::string>("node", "");
  bench.gpu = map.value_or<std::string>("gpu", "");
  bench.dtype = map.require<std::string>("dtype");
  bench.algorithm = forced(map.require<std::string>("algorithm"));
  bench.protocol = forced(map.require<std::string>("protocol"));
  MeasuredSeries& series = bench.series;
  series.op =
      collective_kind(map.require_choice("op", operations)).value_or(CollectiveKind::all_reduce);
  series.in_place = map.value_or("in_place", false);
  series.version = map.value_or<std::string>("version", "");
  series.network = map.value_or<std::string>("network", "");
  series.source = {"recorded",
                   std::filesystem::path(file).filename().string(),
                   map.require<std::string>("tool"),
                   map.value_or<std::string>("date", ""),
                   {}};
  read_ranks(map, bench);
  read_rows(map, bench);
  map.finish();
  return bench;
}

}  // namespace gradwire::calibration
