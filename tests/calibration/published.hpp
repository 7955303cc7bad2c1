#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/cost/measured_table.hpp"
#include "tests/skipped.hpp"

namespace gradwire::test {

inline std::filesystem::path published_tables() {
  return shared("data/measurements/nccl.yaml");
}

/// A series of that file: rows are [bytes, microseconds, algorithm and bus bandwidth]; rows of no
/// bytes, and of a size that came before, are left out.
struct PublishedSeries {
  std::string id;
  std::string source;
  MeasuredSeries series;
};

inline std::vector<PublishedSeries> read_published() {
  std::vector<PublishedSeries> all;
  const config::YamlValue document = config::load_yaml(published_tables().string());
  for (const config::YamlValue& item : document.items) {
    const auto text = [&item](const char* key) { return item.find(key)->text; };
    PublishedSeries one{text("id"), text("source"), {}};
    const std::string op = text("collective");
    one.series.op = collective_kind(op == "alltoall" ? "all_to_all" : op).value();
    one.series.ranks = std::stoi(text("total_gpus"));
    one.series.machines = std::stoi(text("nodes"));
    for (const config::YamlValue& row : item.find("rows")->items) {
      const Bytes size{std::stoll(row.items.at(0).text)};
      const Seconds time{std::stod(row.items.at(1).text) * 1e-6};
      auto& rows = one.series.rows;
      if (size.count() == 0 || (!rows.empty() && size <= rows.back().size)) continue;
      rows.push_back({size, time, "", ""});
    }
    all.push_back(std::move(one));
  }
  return all;
}

/// A cluster and library of a scenario's text.
struct Machine {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CollectiveLibrary> library;
};

inline Machine machine(const std::string& scenario) {
  const config::YamlValue document = config::parse_yaml(scenario, "scenario");
  config::YamlMap map(document);
  Machine result;
  result.cluster = config::read_cluster(map).cluster;
  std::vector<Warning> warnings;
  result.library = config::read_collective(map, result.cluster, warnings);
  return result;
}

/// The samples of those series whose name begins so.
inline std::vector<FitSample> samples(const std::vector<PublishedSeries>& all,
                                      std::string_view name, const Machine& where) {
  std::vector<FitSample> found;
  for (const PublishedSeries& one : all) {
    if (!one.id.starts_with(name)) continue;
    const std::vector<FitSample> more = samples_of(one.series, *where.cluster, *where.library);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

}  // namespace gradwire::test
