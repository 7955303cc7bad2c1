#include "sim/cli/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "sim/cli/inputs.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/cli/predict.hpp"
#include "sim/report/plan_report.hpp"
#include "sim/report/ready_curve.hpp"

namespace gradwire::cli {
namespace {

PlanRow row_of(const PlanGroup& group, const JobView& job, const std::vector<Seconds>& ready) {
  PlanRow row{.tensors = static_cast<int>(group.tensors.size()),
              .elements = group.elements,
              .bytes = group.size.count(),
              .first = {},
              .last = {},
              .note = group.note};
  if (group.tensors.empty()) return row;
  row.first = job.tensor(group.tensors.front()).name;
  row.last = job.tensor(group.tensors.back()).name;
  const auto time = [&](TensorId id) { return ready[static_cast<std::size_t>(id)].count(); };
  row.ready_first = time(group.tensors.front());
  for (const TensorId id : group.tensors) {
    row.ready_first = std::min(row.ready_first, time(id));
    row.ready_last = std::max(row.ready_last, time(id));
  }
  return row;
}

PlanExchange exchange_of(const Exchange& exchange) {
  PlanExchange summary{
      .name = exchange.name, .phases = exchange.phases.size(), .connections = exchange.connections};
  for (const auto& phase : exchange.phases) {
    summary.messages += phase.size();
    for (const Message& message : phase) summary.volume += message.share;
  }
  return summary;
}

PlanReport plan_of(const Strategy& strategy, const JobView& job, const ComputeProfile& profile,
                   int iteration, std::string title) {
  const auto ready = gradient_ready_times(profile);
  PlanReport report{.title = std::move(title), .rows = {}, .exchanges = {}};
  for (const PlanGroup& group : strategy.plan(iteration)) {
    report.rows.push_back(row_of(group, job, ready));
  }
  for (const Exchange& exchange : strategy.exchanges()) {
    report.exchanges.push_back(exchange_of(exchange));
  }
  return report;
}

/// Iterations whose plans are shown where they differ from the one before, with their headings.
std::vector<std::pair<int, std::string>> shown_iterations(const Phasing& phasing) {
  std::vector<std::pair<int, std::string>> shown = {{0, "First iteration"},
                                                    {1, "From the second iteration on"}};
  const int steady = phasing.steady_from;
  const bool repeats = phasing.period > 1;
  if (steady > std::numeric_limits<int>::max() - 1 - phasing.period) return shown;  // never
  if (steady > 1) {
    // Of a period the second one: the first follows.
    shown.emplace_back(repeats ? steady + 1 : steady,
                       fmt::format("From iteration {} on, counted from 0", steady));
  }
  if (repeats) {
    const int first = steady > 1 ? steady : steady + phasing.period;
    shown.emplace_back(first, fmt::format("Every {} iterations, from {} on, counted from 0",
                                          phasing.period, first));
  }
  return shown;
}

}  // namespace

void show_plan(const std::string& file, const std::vector<std::string>& sets,
               const std::string& point, const std::string& svg) {
  const auto points = config::read_scenario(file, sets);
  const config::Scenario scenario = with_bare_compute(choose_point(points, point, file));
  const Job whole = job_of(scenario);  // the view refers to it
  const JobView job = job_view(whole);
  const auto strategy = with_places(scenario, [&] { return scenario.make_strategy(job); });
  const std::string title = fmt::format("{}: {} on {} ranks, {} tensors", scenario.name,
                                        scenario.strategy_name, job.world_size, job.tensors.size());
  const auto report = [&](int iteration) {
    return plan_of(*strategy, job, *scenario.profile, iteration, title);
  };
  print_text(plain_line(title) + '\n');
  std::vector<std::pair<std::string, std::string>> tables;  // with their headings
  for (const auto& [iteration, heading] : shown_iterations(strategy->phasing())) {
    std::string table = plan_table(report(iteration));
    if (tables.empty() || table != tables.back().second) {
      tables.emplace_back(heading, std::move(table));
    }
  }
  if (tables.size() == 1) tables.front().first = "Every iteration";
  for (const auto& [heading, table] : tables) print_text(fmt::format("\n{}:\n{}", heading, table));
  const PlanReport steady = report(std::max(1, strategy->phasing().steady_from));
  const std::string exchanges = exchange_table(steady);
  if (!exchanges.empty()) print_text("\nMessages of its own:\n" + exchanges);
  write_outputs({{svg, [&] { return plan_svg(steady); }}});
}

}  // namespace gradwire::cli
