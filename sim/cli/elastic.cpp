#include "sim/cli/elastic.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "sim/cli/predict.hpp"

namespace gradwire::cli {
namespace {

/// Workers of `some` that are not among `others`.
int missing(const Placement& some, const Placement& others) {
  const std::set<GpuRef> known(others.begin(), others.end());
  return static_cast<int>(std::ranges::count_if(
      some, [&known](const GpuRef& worker) { return !known.contains(worker); }));
}

double first_iteration(config::Scenario scenario, const std::optional<WorkerChange>& change) {
  scenario.run = {.iterations = 1, .warmup = 0, .seed = scenario.run.seed};
  scenario.make_strategy = [make = std::move(scenario.make_strategy), change](JobView view) {
    view.change = change;
    return make(view);
  };
  return simulate(job_of(scenario)).iteration_s.front();
}

double half(const config::Scenario& scenario, const WorkerChange& change) {
  return first_iteration(scenario, change) - first_iteration(scenario, std::nullopt);
}

/// Between all machines of the cluster, whoever has workers.
Seconds latency_of(config::Scenario scenario) {
  scenario.placement.clear();
  for (int machine = 0; machine < scenario.elastic->machines; ++machine) {
    scenario.placement.push_back({machine, 0});
  }
  return job_view(job_of(scenario)).message_latency;
}

ElasticChange change_between(const config::Scenario& before, const config::Scenario& after) {
  if (before.placement == after.placement) return {};  // peer.go, propose: nothing is done
  const config::ElasticStage& stage = *after.elastic;
  ElasticChange result{.joined = missing(after.placement, before.placement),
                       .left = missing(before.placement, after.placement)};
  WorkerChange change{.workers = static_cast<int>(after.placement.size()),
                      .machines = stage.machines,
                      .joined = result.joined,
                      .worker_start = stage.worker_start,
                      .latency = latency_of(after),
                      .retries = stage.retries};
  result.agree_s = half(before, change);
  change.behind = true;
  result.join_s = half(after, change);
  return result;
}

}  // namespace

ElasticRun elastic_run(const std::vector<config::Scenario>& phases) {
  ElasticRun run;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    assert(phases[i].elastic);
    run.steps.push_back(phases[i].elastic->steps);
    if (i > 0) run.changes.push_back(change_between(phases[i - 1], phases[i]));
  }
  return run;
}

}  // namespace gradwire::cli
