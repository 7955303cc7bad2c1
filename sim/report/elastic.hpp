#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/report/point.hpp"

namespace gradwire {

/// What a change of a job's workers takes, behind the phase of the same number.
struct ElasticChange {
  int joined = 0;      ///< workers that were not there before
  int left = 0;        ///< those that are there no more
  double agree_s = 0;  ///< of the workers before it: consensus, and word to who starts workers
  double join_s = 0;   ///< of those behind it: start, barrier, the model to all
};

/// A job in phases: what a scenario's points are with `elastic`.
struct ElasticRun {
  std::vector<std::int64_t> steps;     ///< of each phase
  std::vector<ElasticChange> changes;  ///< one fewer
};

/// A line a phase and one a change, and what all take. A phase takes its steps times the mean
/// iteration of its point. REQUIRES: a point a phase.
[[nodiscard]] std::string elastic_table(std::span<const Point> points, const ElasticRun& run);

/// The same: {phases: [{workers, steps, step_s, time_s}], changes: [{joined, left, agree_s, join_s,
/// time_s}], total_s}, in seconds.
[[nodiscard]] nlohmann::ordered_json elastic_json(std::span<const Point> points,
                                                  const ElasticRun& run);

}  // namespace gradwire
