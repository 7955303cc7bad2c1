#include "sim/cli/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/report/metrics.hpp"
#include "sim/train/timed_under.hpp"

namespace gradwire::cli {

EngineOptions engine_options(const config::Scenario& scenario) {
  EngineOptions options{.refuses_inexact = true};
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
          .uneven_inputs = scenario.uneven_inputs,
          .doubts = config::shipped_doubts()};
}

config::Scenario with_bare_compute(config::Scenario scenario) {
  if (!scenario.timed_under) return scenario;
  const config::TimedUnder& told = *scenario.timed_under;
  scenario.profile = with_places(scenario, [&] {
    return profile_timed_under(job_of(scenario), told.make_strategy, told.micro_batches, told.time);
  });
  scenario.timed_under.reset();
  return scenario;
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

RunResult predict_job(const config::Scenario& scenario, bool record_spans, bool ignore_memory,
                      EngineMemo* memo = nullptr) {
  if (scenario.timed_under) {
    return predict_job(with_bare_compute(scenario), record_spans, ignore_memory, memo);
  }
  Job job = job_of(scenario);
  job.engine.memo = memo;
  job.record_spans = record_spans;
  job.run.ignore_memory = ignore_memory;
  RunResult result = with_places(scenario, [&] { return simulate(job); });
  if (scenario.run.fidelity == "bracket") {
    job.engine.fidelity = Fidelity::coupled;
    job.record_spans = false;
    widen(result, simulate(job));
  }
  result.warnings.insert(result.warnings.begin(), scenario.warnings.begin(),
                         scenario.warnings.end());
  if (metrics_of(result).mfu > 1) {
    result.warnings.push_back(
        {"mfu-above-one",
         "an MFU of more than 100 %: it counts all multiplications of the layers, of which "
         "Winograd's kernels make those of 3 x 3 convolutions in fp32 with down to a quarter"});
  }
  return result;
}

}  // namespace

bool has_independent_workers(const config::Scenario& scenario) {
  return with_places(scenario, [&] {
    const JobView view = job_view(job_of(scenario));
    return scenario.make_strategy(view)->traits().independent_workers;
  });
}

RunResult predict(const config::Scenario& scenario, bool record_spans, EngineMemo* memo) {
  return predict_job(scenario, record_spans, scenario.run.ignore_memory, memo);
}

RunResult predict_anyway(const config::Scenario& scenario) {
  return predict_job(scenario, /*record_spans=*/false, /*ignore_memory=*/true);
}

Point predict_point(const config::Scenario& scenario, bool record_spans, EngineMemo* memo) {
  return {.label = scenario.label,
          .name = scenario.name,
          .model = scenario.profile->model,
          .strategy = scenario.strategy_name,
          .scenario_json = scenario.json,
          .scenario_sha256 = scenario.sha256,
          .result = predict(scenario, record_spans, memo)};
}

}  // namespace gradwire::cli
