
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
#include "sim/cli/worker_pool.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/parallel.hpp"
#include "sim/report/benchmark_lines.hpp"
#include "sim/report/chrome_trace.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/ddp_json.hpp"
#include "sim/report/ddp_table.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/timeline_svg.hpp"
#include "sim/train/rank_memory.hpp"

namespace gradwire::cli {
namespace {

struct RunOptions {
  std::string scenario;
  std::vector<std::string> sets;
  std::vector<std::string> envs;
  std::string point;
  int threads = available_cores();
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
std::string run_text(const std::string& format, const std::vector<config::Scenario>& scenarios,
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

/// What is predicted of a scenario's points. Those that do not fit the GPUs' memory have no result.
struct Predictions {
  std::vector<Point> points;
  std::vector<config::Scenario> scenarios;  ///< of `points`
  /// All in the scenario's order: label, and why there is no result, or empty.
  std::vector<std::pair<std::string, std::string>> asked;
};

/// @throws DoesNotFit where no point fits.
Predictions predict_all(std::vector<config::Scenario> scenarios, bool spans, bool quiet) {
  Predictions made;
  std::optional<DoesNotFit> misfit;
  Progress progress(scenarios.size(), "points", quiet);
  for (config::Scenario& scenario : scenarios) {
    auto& [label, why] = made.asked.emplace_back(scenario.label, "");
    try {
      made.points.push_back(predict_point(scenario, spans));
      made.scenarios.push_back(std::move(scenario));
    } catch (const DoesNotFit& error) {
      why = error.what();
      misfit = error;
    }
    progress.step();
  }
  if (made.points.empty()) throw DoesNotFit(*misfit);
  return made;
}

std::vector<ResultRow> csv_rows(const Predictions& made) {
  std::vector<ResultRow> rows;
  auto results = results_json(made.points)["results"];
  auto next = results.begin();
  for (const auto& [label, why] : made.asked) {
    rows.push_back({{{"label", label}}, why.empty() ? std::move(*next++) : nullptr, why});
  }
  return rows;
}

nlohmann::ordered_json json_of(const Predictions& made) {
  auto json = results_json(made.points);
  auto& results = json["results"];
  for (std::size_t i = 0; i < made.asked.size(); ++i) {
    const auto& [label, why] = made.asked[i];
    if (why.empty()) continue;
    results.insert(results.begin() + static_cast<std::ptrdiff_t>(i),
                   nlohmann::ordered_json{{"label", label}, {"error", why}});
  }
  return json;
}

void print_point_warnings(const std::vector<Point>& points) {
  std::set<std::string> told;
  for (const Point& point : points) {
    for (const Warning& warning : point.result.warnings) {
      if (told.insert(warning.text).second) {
        tell("warning: {} ({})\n", warning.text, warning.code);
      }
    }
  }
}

void run(const RunOptions& options, Context& context) {
  auto scenarios = config::read_scenario(options.scenario, with_envs(options.sets, options.envs));
  if (!options.point.empty()) {
    scenarios = {choose_point(scenarios, options.point, options.scenario)};
  }
  use_threads(options.threads);
  const bool spans = !options.trace.empty() || !options.svg.empty();
  const bool several = options.point.empty() && !scenarios.front().label.empty();
  const bool is_elastic = several && scenarios.front().elastic;
  const Predictions made = predict_all(std::move(scenarios), spans, context.quiet);
  const std::vector<Point>& points = made.points;
  const bool all_fit = points.size() == made.asked.size();
  std::optional<ElasticRun> elastic;
  if (is_elastic && all_fit) elastic = elastic_run(made.scenarios);
  print_text(run_text(options.format, made.scenarios, points, several));
  if (elastic && options.format == "table") print_text('\n' + elastic_table(points, *elastic));
  if (several && !context.quiet) print_point_warnings(points);
  for (const auto& [label, why] : made.asked) {
    if (!why.empty()) tell("gradwire: {}: {}\n", label, why);
  }
  if (!all_fit) context.exit_code = 1;
  write_outputs({{options.json,
                  [&] {
                    auto json = several ? json_of(made) : result_json(points.front());
                    if (elastic) json["elastic"] = elastic_json(points, *elastic);
                    return json_text(json);
                  }},
                 {options.ddp_json, [&] { return json_line(ddp_json(points)) + '\n'; }},
                 {options.trace, [&] { return json_line(chrome_trace(points)) + '\n'; }},
                 {options.csv, [&] { return csv(csv_rows(made)); }},
                 {options.svg, [&] { return timeline_svg(points.back()); }}});
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Predict one scenario, or each of its points, and print a table");
  command->add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->required();
  add_sets(*command, options->sets);
  add_ignore_memory(*command, options->sets);
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
  command
      ->add_option("-j,--jobs", options->threads,
                   "Threads for a point of many GPUs (default: one a core); results do not depend "
                   "on it")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
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
