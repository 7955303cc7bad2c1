#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/cli/acpsgd.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/elastic.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/cli/progress.hpp"
#include "sim/config/scenario.hpp"
#include "sim/report/benchmark_lines.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/ddp_json.hpp"
#include "sim/report/ddp_table.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/timeline_svg.hpp"

namespace gradwire::cli {
namespace {

struct RunOptions {
  std::string scenario;
  std::vector<std::string> sets;
  std::vector<std::string> envs;
  std::string point;
  std::string format = "table";
  std::string json;
  std::string ddp_json;
  std::string trace;
  std::string csv;
  std::string svg;
};

/// The originals' front ends whose lines `--format` prints.
const std::map<std::string, LineFormat>& line_formats() {
  static const std::map<std::string, LineFormat> formats = {
      {"horovod", LineFormat::horovod},
      {"kungfu", LineFormat::kungfu},
      {"ddl-benchmarks", LineFormat::ddl_benchmarks}};
  return formats;
}

/// What `--format` asks for. @param several  points, with labels.
std::string text_of(const std::string& format, const std::vector<config::Scenario>& scenarios,
                    const std::vector<Point>& points, bool several) {
  if (format == "ddp-benchmark") return ddp_benchmark_text(points);
  const auto lines = line_formats().find(format);
  if (lines != line_formats().end()) return benchmark_lines(points, lines->second);
  if (format == "table") return several ? ddp_table(points) : summary(points.front());
  std::string text;
  for (std::size_t i = 0; i < points.size(); ++i) {
    text +=
        format == "acpsgd" ? acpsgd_text(scenarios[i], points[i]) : comm_time_text(scenarios[i]);
  }
  return text;
}

std::vector<ResultRow> csv_rows(const std::vector<Point>& points) {
  std::vector<ResultRow> rows;
  rows.reserve(points.size());
  for (const Point& point : points) {
    rows.push_back({{{"label", point.label}}, result_json(point), ""});
  }
  return rows;
}

void print_warnings(const std::vector<Point>& points) {
  std::set<std::string> told;
  for (const Point& point : points) {
    for (const Warning& warning : point.result.warnings) {
      if (told.insert(warning.text).second) {
        tell("warning: {} ({})\n", warning.text, warning.code);
      }
    }
  }
}

void run(const RunOptions& options, const Context& context) {
  auto scenarios = config::read_scenario(options.scenario, with_envs(options.sets, options.envs));
  if (!options.point.empty()) {
    scenarios = {choose_point(scenarios, options.point, options.scenario)};
  }
  const bool spans = !options.trace.empty() || !options.svg.empty();
  std::vector<Point> points;
  {
    Progress progress(scenarios.size(), "points", context.quiet);
    for (const config::Scenario& scenario : scenarios) {
      points.push_back(predict_point(scenario, spans));
      progress.step();
    }
  }
  const bool several = options.point.empty() && !points.front().label.empty();
  std::optional<ElasticRun> elastic;
  if (several && scenarios.front().elastic) elastic = elastic_run(scenarios);
  print_text(text_of(options.format, scenarios, points, several));
  if (elastic && options.format == "table") print_text('\n' + elastic_table(points, *elastic));
  if (several && !context.quiet) print_warnings(points);
  write_outputs({{options.json,
                  [&] {
                    auto json = several ? results_json(points) : result_json(points.front());
                    if (elastic) json["elastic"] = elastic_json(points, *elastic);
                    return json_text(json);
                  }},
                 {options.ddp_json, [&] { return json_line(ddp_json(points)) + '\n'; }},
                 {options.trace, [&] { return json_line(chrome_trace(points)) + '\n'; }},
                 {options.csv, [&] { return csv(csv_rows(points)); }},
                 {options.svg, [&] { return timeline_svg(points.back()); }}});
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Predict one scenario, or each of its points, and print a table");
  command->add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->required();
  add_sets(*command, options->sets);
  add_envs(*command, options->envs);
  command
      ->add_option("--format", options->format,
                   "What to print: table (default), or the lines of an original's benchmark: "
                   "horovod, kungfu, ddl-benchmarks, ddp-benchmark, acpsgd; acpsgd-comm-time: its "
                   "all-reduces with and without fusion")
      ->check(one_of({"table", "horovod", "kungfu", "ddl-benchmarks", "ddp-benchmark", "acpsgd",
                      "acpsgd-comm-time"}))
      ->type_name("FORMAT");
  command->add_option("--point", options->point, "Run only the point with this label")
      ->type_name("LABEL");
  const auto file = [&](const char* name, std::string& path, const char* what) {
    command->add_option(name, path, what)->check(writable_file());
  };
  file("--json", options->json,
       "Write the result: gradwire.result/1, with points gradwire.results/1");
  file("--ddp-json", options->ddp_json, "Write the JSON of the PyTorch DDP benchmark");
  file("--trace", options->trace,
       "Write one iteration's timeline for chrome://tracing or Perfetto");
  file("--csv", options->csv, "Write one line a point");
  file("--svg", options->svg, "Draw one iteration's timeline (of the last point)");
  command->footer(
      "Examples:\n"
      "  gradwire run scenarios/pytorch_ddp_v100.yaml\n"
      "  gradwire run job.yaml --set cluster.nodes=4 --set 'strategy.bucket_cap=1 MiB' --json "
      "r.json\n"
      "  gradwire run job.yaml --trace trace.json --svg timeline.svg\n"
      "  gradwire run job.yaml --set strategy.preset=horovod/0.28 --env HOROVOD_CYCLE_TIME=3.5 "
      "--format horovod");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace gradwire::cli
