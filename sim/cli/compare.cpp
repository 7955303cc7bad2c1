#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/worker_pool.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/statistics.hpp"
#include "sim/engine/engine_plan.hpp"
#include "sim/report/comparison.hpp"
#include "sim/report/csv.hpp"
#include "sim/report/efficiency_over.hpp"
#include "sim/report/result_json.hpp"
#include "sim/train/worker_rates.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* baseline = "ddp";
constexpr const char* option_name = "--strategies";

/// Iterations where the scenario says nothing. The first two differ from the later ones (buckets
/// not yet rebuilt, nothing stale yet); 4 hold a whole period of what comes every second iteration
/// (ACP-SGD) or fourth (local SGD); 40 strategies at 1024 GPUs stay within a minute.
const RunSpec default_run = {.iterations = 4, .warmup = 2, .seed = 1};
/// The same of asynchronous workers, whose first ones find the servers' queues empty: 32 of VGG-16
/// over one 25 Gbit/s port a machine train 60 % faster with 4 behind 2 than with 200 behind 20 (ssp
/// 22 %, its 64 of ResNet-50 11 %); with 20 behind 5 they and pair averaging are 0 to 4 % off.
const RunSpec asynchronous_run = {.iterations = 20, .warmup = 5, .seed = 1};
/// A run with other compute has one iteration behind its warm-up where the standard deviation of
/// those as it is is no greater, relative to their mean. That moves bounds by 0.1 % at most on 64
/// GPUs and by 0.6 on 1024, where another seed moves the same ones by 0.4; with more variation it
/// would by 2.5.
constexpr double paired_stdev_max = 0.0025;

struct CompareOptions {
  std::string scenario;
  std::vector<std::string> sets;
  std::string strategies = "all";
  std::string point;
  int workers = available_cores();
  std::string json;
  std::string csv;
  std::string svg;
};

struct Comparison {
  std::vector<config::Contender> contenders;
  std::string label{};                 ///< of the scenario's point
  std::vector<std::string> smaller{};  ///< of its points with fewer ranks, the fewest first
  double compute_error = 0;            ///< relative, beside communication
};

/// The contenders asked for, and the baseline.
std::vector<config::Contender> contenders_of(const CompareOptions& options) {
  const bool all = options.strategies == "all";
  const std::string names = all ? joined_by(config::all_contenders(), ",") : options.strategies;
  auto contenders = config::parse_contenders(names, all ? "all strategies" : option_name);
  if (std::ranges::find(contenders, baseline, &config::Contender::name) == contenders.end()) {
    contenders.insert(contenders.begin(), config::parse_contenders(baseline, option_name).front());
  }
  return contenders;
}

/// Chooses the scenario's point.
void choose(const CompareOptions& options, Comparison& comparison) {
  const auto points = config::point_labels(options.scenario, options.sets);
  if (points.front().empty() && options.point.empty()) return;
  auto scenarios = config::read_scenario(options.scenario, options.sets);
  const config::Scenario& chosen = choose_point(scenarios, options.point, options.scenario);
  comparison.label = chosen.label;
  const std::size_t ranks = chosen.placement.size();
  const auto count = [](const config::Scenario& scenario) { return scenario.placement.size(); };
  std::ranges::stable_sort(scenarios, {}, count);
  for (const config::Scenario& scenario : scenarios) {
    if (count(scenario) < ranks) comparison.smaller.push_back(scenario.label);
  }
}

config::Scenario scenario_of(const CompareOptions& options, const std::string& label,
                             const config::Contender& contender,
                             const RunSpec& fallback = default_run) {
  return config::read_contender(options.scenario, options.sets, label, contender, fallback);
}

/// What the table says of a contender, and seconds of the iterations that its scenario has.
struct Settled {
  Point point;
  std::vector<double> brief_s;
};

/// The scenario's point, but of asynchronous workers that of a longer run where the scenario leaves
/// that open: its first iterations are the scenario's.
Settled settled(const CompareOptions& options, const std::string& label,
                const config::Contender& contender, const config::Scenario& scenario,
                EngineMemo& memo) {
  if (contender.choice != "none" && has_independent_workers(scenario)) {
    const auto longer = scenario_of(options, label, contender, asynchronous_run);
    Point point = predict_point(longer, false, &memo);
    auto brief_s = mean_iterations(point.result.worker_iteration_s, scenario.run);
    return {std::move(point), std::move(brief_s)};
  }
  Point point = predict_point(scenario, false, &memo);
  auto brief_s = point.result.iteration_s;
  return {std::move(point), std::move(brief_s)};
}

/// Seconds of a mean iteration where all compute takes `factor` of its time. Where iterations are
/// about the same it is that of the run as it is, times the ratio of the first iteration to its own
/// with the same draws (common random numbers: Law, Simulation Modeling and Analysis, 5th edition,
/// section 11.2). @param own  seconds of the iterations as they are.
double mean_at(config::Scenario scenario, double factor, std::span<const double> own,
               EngineMemo& memo) {
  if (factor == 1) return mean(own);
  const bool paired = stdev(own) <= paired_stdev_max * mean(own);
  if (paired) scenario.run.iterations = 1;
  const auto scale = [factor](ComputeProfile& profile) {
    profile = scaled_to(profile, factor * profile.iteration);
  };
  scale(*scenario.profile);
  for (WorkerClass& other : scenario.classes.others) scale(other.profile);
  const std::vector<double> iterations = predict(scenario, false, &memo).iteration_s;
  return paired ? mean(own) * (iterations.front() / own.front()) : mean(iterations);
}

/// Adds the efficiency over the scenario's point of the fewest ranks that can hold the job under
/// this contender, where one GPU cannot.
void add_efficiency(Json& result, const Point& point, const CompareOptions& options,
                    const Comparison& comparison, const config::Contender& contender) {
  if (point.result.one_gpu_fits) return;
  std::vector<Point> points = {point};
  for (const std::string& label : comparison.smaller) {
    try {
      points.push_back(predict_point(scenario_of(options, label, contender), false));
    } catch (const SimulationError&) {
      continue;  // it does not fit there, or cannot run
    } catch (const ConfigError&) {
      continue;
    }
    const auto over = efficiency_over_fewest(point, points);
    if (over && over->world_size < point.result.world_size) break;
  }
  add_efficiency_over(result, point, points);
}

/// What a worker answers for one contender. Only how long compute takes beside communication
/// decides a speed-up, so that the errors of both are one error of compute.
std::string answer(const CompareOptions& options, const Comparison& comparison,
                   const config::Contender& contender) {
  try {
    const auto scenario = scenario_of(options, comparison.label, contender);
    EngineMemo memo;
    const auto [point, brief_s] = settled(options, comparison.label, contender, scenario, memo);
    Json result = result_json(point);
    const double error = comparison.compute_error;
    const double over_brief = mean(point.result.iteration_s) / mean(brief_s);
    const auto at_compute = [&, &brief_s = brief_s](double factor) {
      return over_brief * mean_at(scenario, factor, brief_s, memo);
    };
    result["at_compute"] = {{"error", error},
                            {"faster_s", at_compute(1 / (1 + error))},
                            {"slower_s", at_compute(1 + error)}};
    add_efficiency(result, point, options, comparison, contender);
    return json_line({{"result", result}});
  } catch (const ConfigError& error) {
    const bool asked = error.where().file == option_name;
    return json_line({{"error", error.what()}, {"bad_option", asked}, {"bad_input", true}});
  } catch (const SimulationError& error) {
    return json_line({{"error", error.what()}});
  }
}

/// The job under the baseline for one iteration; none where it cannot be: its worker tells why.
std::optional<config::Scenario> brief_baseline(const CompareOptions& options,
                                               const std::string& label) {
  try {
    auto scenario =
        scenario_of(options, label, config::parse_contenders(baseline, option_name).front());
    scenario.run = {.iterations = 1, .warmup = 0, .seed = scenario.run.seed};
    return scenario;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

/// How far compute may be off beside communication, relative: the profile's error and that of the
/// baseline's collectives. 0 where the baseline cannot run, so that there are no speed-ups.
/// Its scenario is read here, not in its worker: so the workers forked later have its files parsed.
double compute_error(const CompareOptions& options, const std::string& label) {
  double error = 0;
  const auto scenario = brief_baseline(options, label);
  if (!scenario) return error;
  run_in_workers(
      1, 1,
      [&](std::size_t /*task*/) {
        const RunResult result = predict(*scenario, false);
        return Json(std::hypot(result.profile_error, result.cost_error)).dump();
      },
      [&](std::size_t /*task*/, const TaskOutcome& done) {
        if (done.done) error = Json::parse(done.text).get<double>();
      });
  return error;
}

struct Outcome {
  std::vector<ComparisonRow> rows;
  std::size_t bad_input = 0;
  std::size_t failed = 0;  ///< workers that ended without an answer
  std::size_t done = 0;
  bool interrupted = false;  ///< rows that were not done say so
};

Outcome simulate_all(const CompareOptions& options, const Comparison& comparison, bool quiet) {
  Outcome outcome;
  for (const auto& contender : comparison.contenders) {
    outcome.rows.push_back(
        {.name = contender.name, .result = nullptr, .error = "interrupted", .speed_up = {}});
  }
  std::vector<std::size_t> misspelt;
  Progress progress(comparison.contenders.size(), "strategies", quiet);
  const auto work = [&](std::size_t index) {
    return answer(options, comparison, comparison.contenders[index]);
  };
  const auto take = [&](std::size_t index, const TaskOutcome& done) {
    const Json json = done.done ? Json::parse(done.text) : Json{{"error", done.text}};
    outcome.rows[index].result = json.value("result", Json(nullptr));
    outcome.rows[index].error = json.value("error", "");
    ++outcome.done;
    outcome.failed += done.done ? 0U : 1U;
    outcome.bad_input += json.value("bad_input", false) ? 1U : 0U;
    if (json.value("bad_option", false)) misspelt.push_back(index);
    progress.step();
  };
  try {
    run_in_workers(comparison.contenders.size(), options.workers, work, take);
  } catch (const Interrupted&) {
    outcome.interrupted = true;
  }
  if (outcome.bad_input == outcome.rows.size()) misspelt.push_back(outcome.rows.size() - 1);
  // What the user wrote is wrong: the same error ends the command.
  for (const std::size_t index : misspelt) {
    (void)scenario_of(options, comparison.label, comparison.contenders[index]);
  }
  return outcome;
}

std::string title(const std::vector<ComparisonRow>& rows) {
  const Json& first = rows.front().result;
  const int gpus = first["world_size"].get<int>();
  return fmt::format("{} on {} GPU{}, {} a GPU", first["model"].get<std::string>(), gpus,
                     gpus == 1 ? "" : "s", first["batch_per_gpu"].get<int>());
}

void compare(const CompareOptions& options, Context& context) {
  Comparison comparison{.contenders = contenders_of(options)};
  choose(options, comparison);
  comparison.compute_error = compute_error(options, comparison.label);
  Outcome outcome = simulate_all(options, comparison, context.quiet);
  std::vector<ComparisonRow>& rows = outcome.rows;
  if (outcome.interrupted) {
    tell("gradwire: interrupted; {} of {} strategies are done\n", outcome.done, rows.size());
    context.exit_code = interrupted_code;
    if (std::ranges::none_of(rows, [](const auto& row) { return row.error.empty(); })) return;
  }
  rank_rows(rows, baseline);
  if (!rows.front().has_result()) {
    throw SimulationError(
        fmt::format("no strategy can run here; {}: {}", rows.front().name, rows.front().error));
  }
  print_text(plain_line(title(rows)) + "\n\n" + comparison_table(rows, baseline));
  write_outputs({{options.json, [&] { return json_text(comparison_json(rows, baseline)); }},
                 {options.csv, [&] { return csv(comparison_rows(rows)); }},
                 {options.svg, [&] { return comparison_svg(rows, baseline, title(rows)); }}});
  if (outcome.failed > 0) {
    tell("gradwire: {} of {} strategies failed\n", outcome.failed, rows.size());
    if (!outcome.interrupted) context.exit_code = 1;
  }
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Predict the same job under many strategies, and rank them");
  command->add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->required();
  add_sets(*command, options->sets);
  add_ignore_memory(*command, options->sets);
  command
      ->add_option(option_name, options->strategies,
                   "Strategies and presets, with knobs and compression: a,b(knob=value)+fp16,... "
                   "or all (default)")
      ->type_name("LIST");
  command
      ->add_option("--point", options->point,
                   "Label of the scenario's point (default: the one with the most ranks)")
      ->type_name("LABEL");
  command
      ->add_option("-j,--jobs", options->workers,
                   "Strategies that run at the same time (default: one a core)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command->add_option("--json", options->json, "Write gradwire.results/1")->check(writable_file());
  command->add_option("--csv", options->csv, "Write one line a strategy")->check(writable_file());
  command->add_option("--svg", options->svg, "Draw a bar a strategy")->check(writable_file());
  command->footer(
      "DDP runs in any case: speed-ups are over it. A strategy that cannot run on this cluster is "
      "reported\n"
      "below the table; 'none' is the bound above it, not ranked; neither is what depends on "
      "coding\n"
      "times that nobody measured. A scenario without run.iterations and run.warmup runs 4 after "
      "2,\n"
      "asynchronous workers 20 after 5.\n"
      "Ranked ones between which is no significant difference stand together; those that are 1.15 "
      "times\n"
      "as fast differ. Steps: exact as synchronous SGD on the whole batch, lossy, or stale.\n"
      "In brackets: the speed-up with compute faster and slower, beside communication, by what "
      "the\n"
      "profile and the collectives of DDP may be off.\n"
      "Examples:\n"
      "  gradwire compare scenarios/compare_64_gpus.yaml\n"
      "  gradwire compare job.yaml --strategies 'ddp,horovod/0.28,ddp(bucket_cap=1 MiB)+fp16' "
      "--svg c.svg");
  command->callback([options, &context] { compare(*options, context); });
}

}  // namespace gradwire::cli
