#include "sim/cli/collective_fits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "calibration/import/bench_collectives.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/config/cluster_yaml.hpp"
#include "sim/config/collective_catalogue.hpp"
#include "sim/config/collective_table_yaml.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {
namespace {

constexpr const char* bench_schema = "\"gradwire.bench.collectives/1\"";

bool is_yaml(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

/// A file of our own benchmarks, gradwire.bench.collectives/1; its head counts for the table.
ImportedTables read_bench(const std::string& text, const std::string& file, bool first,
                          CollectiveTable& all) {
  calibration::CollectiveBench bench = calibration::read_bench_collectives(text, file);
  if (first) {
    all.library = bench.library;
    all.node = bench.node;
    all.gpu = bench.gpu;
  } else if (bench.library != all.library) {
    throw ConfigError({file, 1, 1},
                      fmt::format("this file is of library {}, those before it are of {}; expected "
                                  "one library in a table",
                                  bench.library, all.library));
  }
  ImportedTables tables;
  tables.series.push_back(std::move(bench.series));
  return tables;
}

}  // namespace

Measured read_measured(const std::string& file, const std::vector<std::string>& sets) {
  if (schema_of(file) != "gradwire.cluster_topology/1") {
    const auto points = config::read_scenario(file, sets, config::Needs::cluster_only);
    const config::Scenario& scenario = choose_point(points, "", file);
    return {scenario.cluster, scenario.library};
  }
  const config::YamlValue document = config::load_yaml(file);
  Measured measured;
  measured.cluster = config::read_cluster_topology(document).cluster;
  if (!measured.cluster) {
    throw ConfigError(document.where, "the file has no machines; expected 'groups', or a scenario");
  }
  measured.library = config::default_library("nccl", measured.cluster);
  return measured;
}

Measured measured_machine(const NodeGraph& node, const std::string& library) {
  Measured measured;
  measured.cluster = std::make_shared<const Cluster>(
      std::vector<std::shared_ptr<const NodeGraph>>{std::make_shared<const NodeGraph>(node)},
      Fabric{});
  measured.library = config::default_library(library, measured.cluster);
  return measured;
}

CollectiveTable read_tables(const std::vector<std::string>& files, const TableOptions& options,
                            std::vector<std::string>& notes) {
  CollectiveTable all;
  all.library = "nccl";
  std::vector<ImportedTables> parts;
  for (const std::string& file : files) {
    if (is_yaml(file)) {
      CollectiveTable table = config::read_collective_table(config::load_yaml(file));
      if (parts.empty()) {
        all.library = table.library;
        all.node = table.node;
        all.gpu = table.gpu;
        all.notes = table.notes;
      }
      parts.push_back({std::move(table.series), {}});
      continue;
    }
    const std::string text = read_text(file, "a benchmark's output");
    parts.push_back(text.find(bench_schema) == std::string::npos
                        ? read_nccl_tests(text, file, tests_options(options))
                        : read_bench(text, file, parts.empty(), all));
  }
  ImportedTables merged = merge_files(std::move(parts));
  std::ranges::move(merged.notes, std::back_inserter(notes));
  all.series = std::move(merged.series);
  if (!options.node.empty()) all.node = options.node;
  if (!options.gpu.empty()) all.gpu = options.gpu;
  return all;
}

std::vector<FitSample> read_samples(const CollectiveTable& table, const Measured& measured,
                                    std::vector<std::string>& notes) {
  std::vector<FitSample> samples;
  for (const MeasuredSeries& series : table.series) {
    try {
      std::ranges::move(samples_of(series, *measured.cluster, *measured.library),
                        std::back_inserter(samples));
    } catch (const SimulationError& error) {
      notes.push_back(fmt::format("{} on {} ranks is not fitted: {}", name_of(series.op),
                                  series.ranks, error.what()));
    }
  }
  return samples;
}

}  // namespace gradwire::cli
