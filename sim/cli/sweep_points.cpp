#include "sim/cli/sweep_points.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/cli/messages.hpp"
#include "sim/cli/point_key.hpp"
#include "sim/cli/predict.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/signals.hpp"
#include "sim/config/yaml/read_files.hpp"
#include "sim/core/error.hpp"
#include "sim/report/result_json.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string label_of(const config::SweepPoint& point) {
  std::string label;
  for (const auto& [key, value] : point) {
    label += fmt::format("{}{}={}", label.empty() ? "" : ", ", key, value);
  }
  return label;
}

}  // namespace

SweepPoints::SweepPoints(SweepJob job, std::vector<config::SweepPoint> points)
    : job_(std::move(job)),
      points_(std::move(points)),
      outcomes_(points_.size()),
      store_(job_.store),
      partial_(keeps() ? "" : job_.csv) {
  if (!keeps()) return;
  program_ = program_identity();
  stored_before_ = store_.size();
  if (job_.resume) known_ = store_.keys(program_);
}

void SweepPoints::preload() const {
  try {
    (void)config::read_sweep_point(job_.scenario, job_.sets, points_.front());
  } catch (const ConfigError&) {
    // Its worker meets the same error and tells it.
    return;
  }
}

std::string SweepPoints::answer(std::size_t index) const {
  try {
    const config::ReadFiles files;
    const auto scenario = config::read_sweep_point(job_.scenario, job_.sets, points_[index]);
    std::string key = std::to_string(index);
    if (keeps()) {
      auto digests = files.digests();
      digests.erase(job_.scenario);  // what counts of it is in the scenario
      key = point_key(program_, scenario, digests);
    }
    if (known_.contains(key)) return Json{{"key", key}, {"stored", true}}.dump();
    return Json{{"key", key}}.dump() + '\n' + result_json(predict_point(scenario, false)).dump();
  } catch (const ConfigError& error) {
    return Json{{"error", error.what()}, {"bad_input", true}}.dump();
  }
}

bool SweepPoints::take(std::size_t index, const TaskOutcome& outcome) {
  Outcome& point = outcomes_[index];
  const std::size_t line_end = outcome.text.find('\n');
  const Json line =
      outcome.done ? Json::parse(outcome.text.substr(0, line_end)) : Json{{"error", outcome.text}};
  const bool stored = line.value("stored", false);
  std::string error = line.value("error", "");
  point.key = line.value("key", "");
  if (error.empty() && !stored) {
    store_.put(point.key, program_, label_of(points_[index]), outcome.text.substr(line_end + 1));
  }
  failed_ += error.empty() ? 0U : 1U;
  bad_input_ += line.value("bad_input", false) ? 1U : 0U;
  taken_ += stored ? 1U : 0U;
  point.error = std::move(error);
  ++done_;
  return stored;
}

void SweepPoints::add_to_partial(std::size_t index) {
  if (partial_.path().empty()) return;
  if (const auto why = partial_.add(row(index))) {
    tell("gradwire: {}; further points are kept in memory only\n", *why);
  }
}

void SweepPoints::run(bool quiet) {
  if (partial_.is_left()) {
    tell("gradwire: '{}' is of a sweep that was killed; this one begins it anew\n",
         partial_.path());
  }
  preload();
  Progress progress(points_.size(), "points", quiet);
  const auto done = [&](std::size_t index, const TaskOutcome& outcome) {
    if (take(index, outcome)) {
      progress.skip();
      return;
    }
    add_to_partial(index);
    progress.step();
  };
  try {
    run_in_workers(
        points_.size(), job_.workers, [&](std::size_t index) { return answer(index); }, done);
  } catch (const Interrupted&) {
    interrupted_ = true;
  }
}

ResultRow SweepPoints::row(std::size_t index) const {
  const Outcome& point = outcomes_[index];
  return {.axes = points_[index],
          .result = point.error.empty() ? Json::parse(store_.get(point.key)) : Json(nullptr),
          .error = point.error};
}

ResultRows SweepPoints::rows() const {
  return {points_.size(), [this](std::size_t index) { return row(index); }};
}

}  // namespace gradwire::cli
