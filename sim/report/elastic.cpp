#include "sim/report/elastic.hpp"

#include <cassert>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/metrics.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

/// A phase's seconds.
struct PhaseTime {
  double step = 0;
  double all = 0;
};

PhaseTime phase_time(const Point& point, std::int64_t steps) {
  const double step = metrics_of(point.result).mean;
  return {step, step * static_cast<double>(steps)};
}

double time_of(const ElasticChange& change) {
  return change.agree_s + change.join_s;
}

double total(std::span<const Point> points, const ElasticRun& run) {
  double seconds = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    seconds += phase_time(points[i], run.steps[i]).all;
  }
  for (const ElasticChange& change : run.changes) seconds += time_of(change);
  return seconds;
}

}  // namespace

std::string elastic_table(std::span<const Point> points, const ElasticRun& run) {
  assert(points.size() == run.steps.size() && run.changes.size() + 1 == points.size());
  std::string text;
  const auto out = std::back_inserter(text);
  plain_format_to(out, "{:<10}{:>10}{:>12}{:>16}{:>16}{:>16}\n", "Elastic", "workers", "steps",
                  "step, or agree", "join", "time");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PhaseTime time = phase_time(points[i], run.steps[i]);
    plain_format_to(out, "{:<10}{:>10}{:>12}{:>13.3f} ms{:>16}{:>14.3f} s\n",
                    plain_format("phase {}", i + 1), points[i].result.world_size, run.steps[i],
                    1e3 * time.step, "", time.all);
    if (i == run.changes.size()) break;
    const ElasticChange& change = run.changes[i];
    plain_format_to(out, "{:<10}{:>10}{:>12}{:>13.3f} ms{:>14.3f} s{:>14.3f} s\n", "  change",
                    plain_format("{:+} -{}", change.joined, change.left), "", 1e3 * change.agree_s,
                    change.join_s, time_of(change));
  }
  plain_format_to(out, "{:<10}{:>68.3f} s\n", "total", total(points, run));
  return text;
}

nlohmann::ordered_json elastic_json(std::span<const Point> points, const ElasticRun& run) {
  Json phases = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PhaseTime time = phase_time(points[i], run.steps[i]);
    phases.push_back({{"workers", points[i].result.world_size},
                      {"steps", run.steps[i]},
                      {"step_s", time.step},
                      {"time_s", time.all}});
  }
  Json changes = Json::array();
  for (const ElasticChange& change : run.changes) {
    changes.push_back({{"joined", change.joined},
                       {"left", change.left},
                       {"agree_s", change.agree_s},
                       {"join_s", change.join_s},
                       {"time_s", time_of(change)}});
  }
  return {{"phases", phases}, {"changes", changes}, {"total_s", total(points, run)}};
}

}  // namespace gradwire
