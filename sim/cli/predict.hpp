#pragma once

#include "sim/config/scenario.hpp"
#include "sim/core/refusal.hpp"
#include "sim/report/point.hpp"
#include "sim/train/training.hpp"

namespace gradwire::cli {

/// The job that a scenario describes; refers to the scenario, which must outlive it.
/// REQUIRES: the scenario was read with Needs::everything.
[[nodiscard]] Job job_of(const config::Scenario& scenario);

/// The fidelity for the engine; for `bracket` the first of its two.
[[nodiscard]] EngineOptions engine_options(const config::Scenario& scenario);

/// Does what may find a choice of the scenario impossible, and adds its place to the refusal, if
/// the scenario names it.
template <class Action>
auto with_places(const config::Scenario& scenario, Action action) {
  try {
    return action();
  } catch (UnsupportedConfiguration& refused) {
    const SourceLocation& where = scenario.places.at(refused.key());
    if (!where.file.empty()) refused.set_where(where);
    throw;
  }
}

/// The scenario whose profile has the compute alone, where its time was measured under a strategy.
[[nodiscard]] config::Scenario with_bare_compute(config::Scenario scenario);

/// Whether the scenario's strategy lets each worker iterate by itself.
/// @throws SimulationError, UnsupportedConfiguration as predict().
[[nodiscard]] bool has_independent_workers(const config::Scenario& scenario);

/// Simulates one scenario; with fidelity `bracket` twice, `fluid` and `coupled`: the bounds of the
/// first are widened to the second. @param record_spans  keep the timeline of the first measured
/// iteration.
/// @param memo  of predictions of the same job with other compute, whose network it plans once.
/// @throws SimulationError; UnsupportedConfiguration with its place; DoesNotFit, unless the
/// scenario ignores memory.
[[nodiscard]] RunResult predict(const config::Scenario& scenario, bool record_spans,
                                EngineMemo* memo = nullptr);

/// The same whether it fits or not: of jobs that were measured.
[[nodiscard]] RunResult predict_anyway(const config::Scenario& scenario);

/// As predict() with what names the scenario, for the reporters.
[[nodiscard]] Point predict_point(const config::Scenario& scenario, bool record_spans,
                                  EngineMemo* memo = nullptr);

}  // namespace gradwire::cli
