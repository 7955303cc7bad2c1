#include "sim/cli/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "sim/train/rank_memory.hpp"

namespace gradwire::cli {

EngineOptions engine_options(const config::Scenario& scenario) {
  EngineOptions options;
  const bool fluid = scenario.run.fidelity == "fluid" || scenario.run.fidelity == "bracket";
  if (fluid) options.fidelity = Fidelity::fluid;
  if (scenario.run.fidelity == "coupled") options.fidelity = Fidelity::coupled;
  if (scenario.run.fidelity == "step") options.fidelity = Fidelity::step;
  return options;
}

Job job_of(const config::Scenario& scenario) {
  assert(scenario.profile && scenario.make_strategy);
  return {.profile = *scenario.profile,
          .gpu = scenario.gpu,
          .cluster = *scenario.cluster,
          .placement = scenario.placement,
          .make_strategy = scenario.make_strategy,
          .library = *scenario.library,
          .jitter = scenario.jitter,
          .stragglers = scenario.stragglers,
          .run = scenario.run,
          .engine = engine_options(scenario),
          .micro_batches = scenario.grad_accumulation,
          .classes = &scenario.classes,
          .servers = scenario.servers,
          .uneven_inputs = scenario.uneven_inputs};
}

namespace {

double mean_iteration(const RunResult& result) {
  return std::accumulate(result.iteration_s.begin(), result.iteration_s.end(), 0.0) /
         static_cast<double>(result.iteration_s.size());
}

/// Moves the bounds of a prediction out by what a second one of the same job differs.
void widen(RunResult& result, const RunResult& other) {
  const double ratio = mean_iteration(other) / mean_iteration(result);
  result.spread_low = std::max(result.spread_low, 1 - ratio * (1 - result.spread_low));
  result.spread_high = std::max(result.spread_high, ratio * (1 + result.spread_high) - 1);
  result.fidelity_why =
      fmt::format("bracket: {} takes {:+.2f} % of it", other.fidelity, 100 * (ratio - 1));
}

}  // namespace

namespace {

RunResult predict_job(const config::Scenario& scenario, bool record_spans) {
  Job job = job_of(scenario);
  job.record_spans = record_spans;
  RunResult result = with_places(scenario, [&] { return simulate(job); });
  if (scenario.run.fidelity == "bracket") {
    job.engine.fidelity = Fidelity::coupled;
    job.record_spans = false;
    widen(result, simulate(job));
  }
  result.warnings.insert(result.warnings.begin(), scenario.warnings.begin(),
                         scenario.warnings.end());
  return result;
}

}  // namespace

RunResult predict(const config::Scenario& scenario, bool record_spans) {
  RunResult result = predict_job(scenario, record_spans);
  if (scenario.run.ignore_memory || !result.memory || fits(*result.memory)) return result;
  const auto told = std::ranges::find(result.warnings, "memory", &Warning::code);
  assert(told != result.warnings.end());
  const auto uneven = std::ranges::find(result.warnings, "uneven-shards", &Warning::code);
  throw DoesNotFit(told->text +
                   "; expected a smaller batch, recomputation, more shards, or "
                   "--ignore-memory for a rate all the same" +
                   (uneven == result.warnings.end() ? "" : ". " + uneven->text));
}

RunResult predict_anyway(const config::Scenario& scenario) {
  return predict_job(scenario, /*record_spans=*/false);
}

Point predict_point(const config::Scenario& scenario, bool record_spans) {
  return {.label = scenario.label,
          .name = scenario.name,
          .model = scenario.profile->model,
          .strategy = scenario.strategy_name,
          .scenario_json = scenario.json,
          .scenario_sha256 = scenario.sha256,
          .result = predict(scenario, record_spans)};
}

}  // namespace gradwire::cli
