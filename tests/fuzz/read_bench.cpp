#include "tests/fuzz/read_bench.hpp"

#include <functional>
#include <optional>
#include <vector>

#include "calibration/import/bench_collectives.hpp"
#include "calibration/import/bench_copies.hpp"
#include "calibration/import/bench_overlap.hpp"
#include "calibration/import/compressors.hpp"
#include "calibration/import/nccl_log.hpp"
#include "calibration/import/nccl_tests.hpp"
#include "calibration/import/workload.hpp"
#include "sim/config/check.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"
#include "sim/models/layer_list.hpp"
#include "sim/models/model_table.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace gradwire::fuzz {
namespace {

std::string text_of(const std::string& bytes, const Budget& budget, Controls controls) {
  return read_text_file(memory_file(bytes), "a text", budget, controls);
}

void write(const ImportedTables& tables) {
  CollectiveTable table;
  table.library = "nccl";
  table.series = tables.series;
  static_cast<void>(config::checked(config::write_collective_table(table), "t.yaml", "in.txt"));
}

}  // namespace

void read_nccl_log_text(const std::string& bytes) {
  const NcclLog log = read_nccl_log(text_of(bytes, log_bytes, Controls::terminal), "nccl.log");
  NcclTestsOptions options;
  if (!log.choices.empty() && !log.choices[0].op) options.op = CollectiveKind::all_reduce;
  write(tables_of(log, "nccl.log", options));
}

void read_nccl_tests_text(const std::string& bytes) {
  const std::string text = text_of(bytes, table_bytes, Controls::terminal);
  std::vector<ImportedTables> twice(2, read_nccl_tests(text, "run.txt", {}));
  write(merge_files(std::move(twice)));
}

void read_model_table_text(const std::string& bytes) {
  const std::string text = text_of(bytes, table_bytes, Controls::white_space);
  const std::vector<TableRow> rows = read_model_table(text, "table.txt");
  config::ModelFile model;
  model.name = "fuzzed";
  model.layers = layers_of_table(rows, "table.txt");
  model.input.assign(rows.front().input.begin() + 1, rows.front().input.end());
  if (model.input.empty()) model.input = {1};
  try {
    static_cast<void>(build_layers(model.name, "", model.input, model.layers));
  } catch (const LayerListError& error) {
    throw ConfigError({"table.txt", rows.at(error.layer()).line, 1}, error.what());
  }
  static_cast<void>(config::checked(config::write_model_file(model, {}), "m.yaml", "table.txt"));
}

void read_bench_json(const std::string& bytes) {
  const std::string text = text_of(bytes, json_bytes, Controls::white_space);
  const std::vector<std::function<void()>> kinds = {
      [&] { static_cast<void>(calibration::read_bench_collectives(text, "b.json")); },
      [&] {
        for (const auto& series : calibration::read_bench_copies(text, "b.json").series) {
          try {
            static_cast<void>(calibration::fit_copies(series));
          } catch (const SimulationError&) {  // the report says that no bandwidth follows
          }
        }
      },
      [&] {
        const auto bench = calibration::read_bench_overlap(text, "b.json");
        static_cast<void>(calibration::overlap_factors(bench, 10));
      },
      [&] {
        const auto bench = calibration::read_bench_compressors(text, "b.json");
        const std::string costs = calibration::write_compressor_costs(bench, BytesPerSecond{900e9});
        static_cast<void>(config::checked(costs, "c.yaml", "b.json"));
      },
      [&] { static_cast<void>(calibration::parse_workload(text, "b.json")); },
      [&] { static_cast<void>(calibration::parse_iteration_times(text, "b.json")); },
  };
  std::optional<ConfigError> refused;
  for (const auto& read : kinds) {
    try {
      return read();
    } catch (const ConfigError& error) {
      refused = error;
    }
  }
  throw ConfigError(*refused);
}

}  // namespace gradwire::fuzz
