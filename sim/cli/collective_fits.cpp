#include "sim/cli/collective_fits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "calibration/import/bench_collectives.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::cli {
namespace {

constexpr const char* bench_schema = "\"gradwire.bench.collectives/1\"";

bool is_yaml(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

/// What one file holds: a table, or series with the head of one.
struct TableFile {
  CollectiveTable table;
  std::vector<std::string> notes;
};

TableFile read_table_file(const std::string& file, const TableOptions& options) {
  if (is_yaml(file)) return {config::read_collective_table(config::loaded_yaml(file)), {}};
  TableFile read;
  const std::string text =
      read_text_file(file, "a benchmark's output", table_bytes, Controls::terminal);
  if (text.find(bench_schema) == std::string::npos) {
    ImportedTables tables = read_nccl_tests(text, file, tests_options(options));
    read.table.library = "nccl";
    read.table.series = std::move(tables.series);
    read.notes = std::move(tables.notes);
  } else {
    calibration::CollectiveBench bench = calibration::read_bench_collectives(text, file);
    read.table.library = bench.library;
    read.table.node = bench.node;
    read.table.gpu = bench.gpu;
    read.table.series.push_back(std::move(bench.series));
  }
  return read;
}

}  // namespace

Measured read_measured(const std::string& file, const std::vector<std::string>& sets) {
  if (schema_of(file) != "gradwire.cluster_topology/1") {
    const auto points = config::read_scenario(file, sets, config::Needs::cluster_only);
    const config::Scenario& scenario = choose_point(points, "", file);
    return {scenario.cluster, scenario.library};
  }
  const config::YamlValue& document = config::loaded_yaml(file);
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
  std::vector<ImportedTables> parts;
  for (const std::string& file : files) {
    TableFile read = read_table_file(file, options);
    if (parts.empty()) {
      all.library = read.table.library;
      all.node = read.table.node;
      all.gpu = read.table.gpu;
      all.notes = read.table.notes;
    } else if (read.table.library != all.library) {
      throw ConfigError({file, 1, 1},
                        fmt::format("this file is of library {}, those before it are of {}; "
                                    "expected one library in a table",
                                    read.table.library, all.library));
    }
    parts.push_back({std::move(read.table.series), std::move(read.notes)});
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
