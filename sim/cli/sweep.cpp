#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/sweep_points.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/ddl_benchmarks_charts.hpp"
#include "sim/report/ddl_benchmarks_report.hpp"
#include "sim/report/efficiency_over.hpp"
#include "sim/report/sweep_table.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SweepOptions {
  SweepJob job;
  std::string json;
  std::string ddl_benchmarks;  ///< folder
};

/// Each warning once, with the number of rows that have it.
void print_warnings(const ResultRows& rows) {
  std::map<std::pair<std::string, std::string>, std::size_t> told;
  for (const ResultRow& row : rows) {
    if (!row.error.empty()) continue;
    for (const Json& warning : row.result.at("warnings")) {
      ++told[{warning.at("text").get<std::string>(), warning.at("code").get<std::string>()}];
    }
  }
  for (const auto& [warning, count] : told) {
    tell("warning: {} ({}; {} of {} points)\n", warning.first, warning.second, count, rows.size());
  }
}

/// What the store had of these points.
void tell_of_store(const SweepJob& job, const SweepPoints& points) {
  if (points.taken() > 0) {
    tell("gradwire: {} of {} points are from '{}'\n", points.taken(), points.size(), job.store);
  } else if (points.stored_before() > 0) {
    tell(
        "gradwire: none of the {} points in '{}' is one of these: they are of another "
        "scenario, of other data files or another program\n",
        points.stored_before(), job.store);
  }
}

void tell_of_interrupt(const SweepJob& job, const SweepPoints& points) {
  tell("gradwire: interrupted; {} of {} points are done{}\n", points.done(), points.size(),
       job.store.empty() ? "" : fmt::format("; --resume goes on from '{}'", job.store));
}

void write_files(const SweepOptions& options, SweepPoints& points, const ResultRows& rows) {
  const std::string& folder = options.ddl_benchmarks;
  const InterruptsHeld held;  // the finished file and its partial one are not both there after it
  std::vector<Output> outputs = {{options.json, [&] { return sweep_json_text(rows); }},
                                 {options.job.csv, [&] { return csv(rows); }}};
  std::vector<DdlBenchmarksChart> charts;
  if (!folder.empty()) {
    charts = ddl_benchmarks_charts(rows);
    outputs.push_back({folder + "/README.md", [&] {
                         return ddl_benchmarks_table(rows) + ddl_benchmarks_figures(charts);
                       }});
    outputs.push_back(
        {folder + "/reports.json", [&] { return json_text(ddl_benchmarks_reports(rows)); }});
    for (const DdlBenchmarksChart& chart : charts) {
      outputs.push_back({folder + "/" + chart.file, [&chart] { return chart.svg; }});
    }
  }
  write_outputs(outputs);
  points.remove_partial();
}

void sweep(const SweepOptions& options, Context& context) {
  const SweepJob& job = options.job;
  auto list = config::sweep_points(job.scenario, job.sets);
  if (list.empty()) {
    throw ConfigError(
        {job.scenario, 1, 1},
        "there is nothing to sweep; expected 'vary' with a list of values for each key");
  }
  const config::SweepPoint first = list.front();
  SweepPoints points(job, std::move(list));
  points.run(context.quiet);
  if (points.interrupted()) {
    tell_of_interrupt(job, points);
    context.exit_code = interrupted_code;
    if (points.done() == 0) return;
  }
  if (points.bad_input() == points.size()) {
    // The file itself is wrong, not a combination: say it once, as every command does.
    (void)config::read_sweep_point(job.scenario, job.sets, first);
  }
  if (!context.quiet) {
    if (job.resume) tell_of_store(job, points);
    print_warnings(points.rows());
  }
  const ResultRows rows = with_efficiency_over(points.rows());
  const std::string table = sweep_table(rows);
  std::exception_ptr failure;
  try {
    write_files(options, points, rows);
  } catch (const std::exception&) {
    failure = std::current_exception();  // the table is reported all the same
  }
  print_text(table);
  if (failure) std::rethrow_exception(failure);
  if (points.failed() > 0) {
    tell("gradwire: {} of {} points failed\n", points.failed(), points.size());
    if (!points.interrupted()) context.exit_code = 1;
  }
}

}  // namespace

void add_sweep(CLI::App& app, Context& context) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command =
      app.add_subcommand("sweep", "Predict every combination of the scenario's 'vary' axes");
  SweepJob& job = options->job;
  command->add_option("SWEEP", job.scenario, "Scenario file (YAML) with 'vary'")->required();
  add_sets(*command, job.sets);
  add_ignore_memory(*command, job.sets);
  command
      ->add_option("-j,--jobs", job.workers,
                   "Points that run at the same time (default: one a core)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command->add_option("--json", options->json, "Write gradwire.results/1")->check(writable_file());
  command->add_option("--csv", job.csv, "Write one line a point")->check(writable_file());
  CLI::Option* store =
      command
          ->add_option("--store", job.store,
                       "Keep every finished point in this file, which is made where there is none")
          ->check(writable_file());
  command
      ->add_flag("--resume", job.resume,
                 "Take the points that the store has, and compute the others")
      ->needs(store);
  command
      ->add_option(
          "--ddl-benchmarks", options->ddl_benchmarks,
          "Write what ddl-benchmarks reports: README.md, a table and its figures, and reports.json")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  command->footer(
      "A point that fails is reported in its row and does not stop the others; the exit code is 1 "
      "then.\n"
      "An interrupt (Ctrl-C) writes the points that are done; the others' rows say so.\n"
      "With --store a point is on the disk as soon as it is counted: whatever ends the sweep, "
      "--resume goes on from there, and the files come out as those of a sweep in one go. A point "
      "is known again by its scenario, the contents of its data files and this very program; "
      "failed ones are tried again. One sweep at a time has a store open.\n"
      "Without it the rows that are done stand in FILE.partial until --csv FILE is written.\n"
      "Examples:\n"
      "  gradwire sweep sweep.yaml -j 8 --csv sweep.csv\n"
      "  gradwire sweep sweep.yaml --set run.iterations=3 --json sweep.json\n"
      "  gradwire sweep sweep.yaml --store points.db --resume --csv sweep.csv\n"
      "  gradwire sweep scenarios/studies/ddl_benchmarks.yaml --ddl-benchmarks results");
  command->callback([options, &context] { sweep(*options, context); });
}

}  // namespace gradwire::cli
