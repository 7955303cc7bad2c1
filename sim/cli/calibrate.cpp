#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/fit_report.hpp"
#include "calibration/import/bench_collectives.hpp"
#include "sim/cli/calibrate.hpp"
#include "sim/cli/calibrate_bench.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/import.hpp"
#include "sim/cli/import_tables.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/config/cluster_yaml.hpp"
#include "sim/config/collective_catalogue.hpp"
#include "sim/config/collective_table_yaml.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {
namespace {

constexpr const char* bench_schema = "\"gradwire.bench.collectives/1\"";

struct FitCommand {
  std::vector<std::string> collectives;
  std::string cluster;
  std::vector<std::string> sets;
  std::string output;
  std::string from = "1MiB";
  int folds = 5;
  TableOptions table;
};

/// The cluster that was measured, and the library that says which algorithm ran.
struct Measured {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const CollectiveLibrary> library;
};

Measured read_measured(const FitCommand& options) {
  if (schema_of(options.cluster) != "gradwire.cluster_topology/1") {
    const auto points =
        config::read_scenario(options.cluster, options.sets, config::Needs::cluster_only);
    const config::Scenario& scenario = choose_point(points, "", options.cluster);
    return {scenario.cluster, scenario.library};
  }
  const config::YamlValue document = config::load_yaml(options.cluster);
  Measured measured;
  measured.cluster = config::read_cluster_topology(document).cluster;
  if (!measured.cluster) {
    throw ConfigError(document.where, "the file has no machines; expected 'groups', or a scenario");
  }
  const config::YamlValue none = config::parse_yaml("{}", options.cluster);
  config::YamlMap map(none);
  std::vector<Warning> warnings;
  measured.library = config::read_collective(map, measured.cluster, warnings);
  return measured;
}

bool is_yaml(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

/// What one file holds: a table, or series with the head of one.
struct TableFile {
  CollectiveTable table;
  std::vector<std::string> notes;
};

TableFile read_table_file(const std::string& file, const FitCommand& options) {
  if (is_yaml(file)) return {config::read_collective_table(config::load_yaml(file)), {}};
  TableFile read;
  const std::string text = read_text(file, "a benchmark's output");
  if (text.find(bench_schema) == std::string::npos) {
    ImportedTables tables = read_nccl_tests(text, file, tests_options(options.table));
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

/// All series of the files, with the head of the first.
CollectiveTable read_tables(const FitCommand& options, std::vector<std::string>& notes) {
  CollectiveTable all;
  std::vector<ImportedTables> files;
  for (const std::string& file : options.collectives) {
    TableFile read = read_table_file(file, options);
    if (files.empty()) {
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
    files.push_back({std::move(read.table.series), std::move(read.notes)});
  }
  ImportedTables merged = merge_files(std::move(files));
  std::ranges::move(merged.notes, std::back_inserter(notes));
  all.series = std::move(merged.series);
  if (!options.table.node.empty()) all.node = options.table.node;
  if (!options.table.gpu.empty()) all.gpu = options.table.gpu;
  return all;
}

/// Samples of the series that the cluster can run; the others are told.
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

void fit(const FitCommand& options, const Context& context) {
  const Measured measured = read_measured(options);
  std::vector<std::string> notes;
  CollectiveTable table = read_tables(options, notes);
  const std::vector<FitSample> samples = read_samples(table, measured, notes);
  if (samples.empty()) {
    throw ConfigError({options.cluster, 1, 1},
                      fmt::format("no measurement fits the cluster: {}; expected the cluster that "
                                  "was measured",
                                  notes.back()));
  }
  table.fits = fit_all(samples);
  write_outputs({{options.output, [&] { return config::write_collective_table(table); }}});
  fmt::print("{}\n{}", error_table(samples, options.folds, parse_sizes(options.from).front()),
             segment_table(table.fits, samples));
  if (context.quiet) return;
  for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
}

void add_fit(CLI::App& calibrate, const Context& context) {
  auto options = std::make_shared<FitCommand>();
  CLI::App* command = calibrate.add_subcommand(
      "fit", "Fit collectives over sizes and rank counts, and tell how well that holds");
  command
      ->add_option("--collectives", options->collectives,
                   "Collective tables (.yaml), or outputs of nccl-tests or calibrate bench")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--cluster", options->cluster,
                   "Scenario or cluster file (YAML) of the cluster that was measured")
      ->required()
      ->type_name("FILE");
  add_sets(*command, options->sets);
  command->add_option("-o,--output", options->output, "Collective table with its fits (YAML)")
      ->required()
      ->check(writable_file());
  command->add_option("--from", options->from, "Smallest size that is scored")
      ->capture_default_str();
  command->add_option("--folds", options->folds, "Folds of the hold-out over sizes")
      ->capture_default_str()
      ->check(CLI::Range(2, 100));
  add_table_options(*command, options->table);
  command->footer(
      "Calibration error: of the rows that were fitted. Hold-out error: of rows that were left "
      "out.\n"
      "Example:\n"
      "  gradwire calibrate fit --collectives table.yaml --cluster scenario.yaml -o fitted.yaml");
  command->callback([options, &context] { fit(*options, context); });
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("calibrate", "Turn measurements into tables and fits");
  command->require_subcommand(1);
  command->footer(
      "Example:\n"
      "  gradwire calibrate fit --collectives table.yaml --cluster scenario.yaml -o fitted.yaml");
  add_calibrate_bench(*command, context);
  add_fit(*command, context);
  add_calibrate_record(*command, context);
}

}  // namespace gradwire::cli
