#include "sim/cli/predict.hpp"

#include <cassert>
#include <utility>

namespace gradwire::cli {

EngineOptions engine_options(const config::Scenario& scenario) {
  EngineOptions options;
  if (scenario.fidelity == "fluid") options.fidelity = Fidelity::fluid;
  if (scenario.fidelity == "step") options.fidelity = Fidelity::step;
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
          .classes = &scenario.classes};
}

RunResult predict(const config::Scenario& scenario, bool record_spans) {
  Job job = job_of(scenario);
  job.record_spans = record_spans;
  RunResult result = simulate(job);
  result.warnings.insert(result.warnings.begin(), scenario.warnings.begin(),
                         scenario.warnings.end());
  return result;
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
