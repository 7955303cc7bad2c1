#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/worker_pool.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/ddl_benchmarks_report.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_table.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SweepOptions {
  std::string scenario;
  std::vector<std::string> sets;
  int workers = available_cores();
  std::string json;
  std::string csv;
  std::string ddl_benchmarks;  ///< folder
};

/// What a worker answers for one combination.
std::string answer(const SweepOptions& options, const config::SweepPoint& point) {
  try {
    const auto scenario = config::read_sweep_point(options.scenario, options.sets, point);
    return Json{{"result", result_json(predict_point(scenario, false))}}.dump();
  } catch (const ConfigError& error) {
    return Json{{"error", error.what()}, {"bad_input", true}}.dump();
  }
}

/// Reads the files that the points share once, before the workers are forked.
void preload(const SweepOptions& options, const config::SweepPoint& point) {
  try {
    (void)config::read_sweep_point(options.scenario, options.sets, point);
  } catch (const ConfigError&) {
    // Its worker meets the same error and tells it.
    return;
  }
}

struct SweepResult {
  std::vector<ResultRow> rows;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::size_t bad_input = 0;
  bool interrupted = false;  ///< rows that were not done say so
};

SweepResult simulate_all(const SweepOptions& options, const std::vector<config::SweepPoint>& points,
                         bool quiet) {
  SweepResult result;
  for (const auto& point : points) result.rows.push_back({point, nullptr, "interrupted"});
  preload(options, points.front());
  Progress progress(points.size(), "points", quiet);
  const auto take = [&](std::size_t index, const TaskOutcome& outcome) {
    ResultRow& row = result.rows[index];
    const Json json = outcome.done ? Json::parse(outcome.text) : Json{{"error", outcome.text}};
    row.result = json.value("result", Json(nullptr));
    row.error = json.value("error", "");
    result.failed += row.error.empty() ? 0U : 1U;
    result.bad_input += json.value("bad_input", false) ? 1U : 0U;
    ++result.done;
    progress.step();
  };
  try {
    run_in_workers(
        points.size(), options.workers,
        [&](std::size_t index) { return answer(options, points[index]); }, take);
  } catch (const Interrupted&) {
    result.interrupted = true;
  }
  return result;
}

/// Each warning once, with the number of rows that have it.
void print_warnings(const std::vector<ResultRow>& rows) {
  std::map<std::pair<std::string, std::string>, std::size_t> told;
  for (const ResultRow& row : rows) {
    if (!row.error.empty()) continue;
    for (const Json& warning : row.result.at("warnings")) {
      ++told[{warning.at("text").get<std::string>(), warning.at("code").get<std::string>()}];
    }
  }
  for (const auto& [warning, count] : told) {
    fmt::print(stderr, "warning: {} ({}; {} of {} points)\n", warning.first, warning.second, count,
               rows.size());
  }
}

void sweep(const SweepOptions& options, Context& context) {
  const auto points = config::sweep_points(options.scenario, options.sets);
  if (points.empty()) {
    throw ConfigError(
        {options.scenario, 1, 1},
        "there is nothing to sweep; expected 'vary' with a list of values for each key");
  }
  const SweepResult result = simulate_all(options, points, context.quiet);
  if (result.interrupted) {
    fmt::print(stderr, "gradwire: interrupted; {} of {} points are done\n", result.done,
               points.size());
    context.exit_code = interrupted_code;
    if (result.done == 0) return;
  }
  if (result.bad_input == points.size()) {
    // The file itself is wrong, not a combination: say it once, as every command does.
    (void)config::read_sweep_point(options.scenario, options.sets, points.front());
  }
  if (!context.quiet) print_warnings(result.rows);
  fmt::print("{}", sweep_table(result.rows));
  const std::string& folder = options.ddl_benchmarks;
  write_outputs({{options.json, [&] { return json_text(sweep_json(result.rows)); }},
                 {options.csv, [&] { return csv(result.rows); }},
                 {folder.empty() ? "" : folder + "/README.md",
                  [&] { return ddl_benchmarks_table(result.rows); }},
                 {folder.empty() ? "" : folder + "/reports.json",
                  [&] { return json_text(ddl_benchmarks_reports(result.rows)); }}});
  if (result.failed > 0) {
    fmt::print(stderr, "gradwire: {} of {} points failed\n", result.failed, points.size());
    if (!result.interrupted) context.exit_code = 1;
  }
}

}  // namespace

void add_sweep(CLI::App& app, Context& context) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command =
      app.add_subcommand("sweep", "Predict every combination of the scenario's 'vary' axes");
  command->add_option("SWEEP", options->scenario, "Scenario file (YAML) with 'vary'")->required();
  add_sets(*command, options->sets);
  command
      ->add_option("-j,--jobs", options->workers,
                   "Points that run at the same time (default: one a core)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command->add_option("--json", options->json, "Write gradwire.results/1")->check(writable_file());
  command->add_option("--csv", options->csv, "Write one line a point")->check(writable_file());
  command
      ->add_option("--ddl-benchmarks", options->ddl_benchmarks,
                   "Write what ddl-benchmarks reports: README.md, a table, and reports.json")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  command->footer(
      "A point that fails is told in its row and does not stop the others; the exit code is 1 "
      "then.\n"
      "An interrupt (Ctrl-C) writes the points that are done; the others' rows say so.\n"
      "Examples:\n"
      "  gradwire sweep sweep.yaml -j 8 --csv sweep.csv\n"
      "  gradwire sweep sweep.yaml --set run.iterations=3 --json sweep.json\n"
      "  gradwire sweep scenarios/studies/ddl_benchmarks.yaml --ddl-benchmarks results");
  command->callback([options, &context] { sweep(*options, context); });
}

}  // namespace gradwire::cli
