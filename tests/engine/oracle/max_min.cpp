#include "tests/engine/oracle/max_min.hpp"

#include <algorithm>
#include <cstddef>

namespace gradwire {
namespace {

class Filling {
 public:
  Filling(std::span<const double> capacity, std::span<const CappedFlow> flows)
      : left_(capacity.begin(), capacity.end()), flows_(flows), rate_(flows.size(), growing) {}

  std::vector<double> solve() {
    for (std::size_t fixed = 0; fixed < flows_.size();) {
      weigh();
      const double level = next_level();
      // Found before any is fixed: fixing one changes what is left on the rows.
      std::vector<std::size_t> stopped;
      for (std::size_t f = 0; f < flows_.size(); ++f) {
        if (rate_[f] == growing && stops_at(flows_[f], level)) stopped.push_back(f);
      }
      for (const std::size_t f : stopped) fix(f, level);
      fixed += stopped.size();
    }
    return rate_;
  }

 private:
  static constexpr double growing = -1;

  void weigh() {
    weight_.assign(left_.size(), 0);
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (rate_[f] != growing) continue;
      for (const RowUse& use : flows_[f].uses) weight_[use.row] += use.weight;
    }
  }

  [[nodiscard]] double row_level(std::size_t row) const {
    return weight_[row] > 0 ? left_[row] / weight_[row] : Transport::no_cap;
  }

  [[nodiscard]] double next_level() const {
    double level = Transport::no_cap;
    for (std::size_t row = 0; row < left_.size(); ++row) level = std::min(level, row_level(row));
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (rate_[f] == growing) level = std::min(level, flows_[f].cap);
    }
    return level;
  }

  [[nodiscard]] bool stops_at(const CappedFlow& flow, double level) const {
    return flow.cap <= level || std::any_of(flow.uses.begin(), flow.uses.end(), [&](RowUse use) {
             return row_level(use.row) <= level;
           });
  }

  void fix(std::size_t flow, double level) {
    rate_[flow] = level;
    for (const RowUse& use : flows_[flow].uses) {
      left_[use.row] = std::max(0.0, left_[use.row] - use.weight * level);
    }
  }

  std::vector<double> left_;
  std::span<const CappedFlow> flows_;
  std::vector<double> rate_;
  std::vector<double> weight_;
};

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacity,
                                  std::span<const CappedFlow> flows) {
  return Filling(capacity, flows).solve();
}

namespace {

/// What the narrowest of a column's rows lets through.
double narrowest(const FlowProblem& problem, std::uint32_t column) {
  double most = Transport::no_cap;
  for (const RowUse& use : problem.columns[column]) {
    most = std::min(most, problem.capacity[use.row] / use.weight);
  }
  return most;
}

/// What copies of a row leave the other flows at least.
double others_share(const FlowProblem& problem, std::span<const ColumnFlow> flows,
                    std::uint32_t row) {
  // Of the whole link.
  const std::uint32_t parts = problem.parts_of(row);
  const double capacity = parts * problem.capacity[row];
  const RowUse once{.row = 0, .weight = 1};
  std::vector<RowUse> uses;
  std::vector<std::uint32_t> columns;
  std::vector<double> demands;
  for (const ColumnFlow& flow : flows) {
    const auto& column = problem.columns[flow.column];
    const auto use = std::find_if(column.begin(), column.end(),
                                  [&](RowUse passed) { return passed.row == row; });
    if (!problem.is_copy(flow.column) || use == column.end()) continue;
    const auto known = std::find_if(columns.begin(), columns.end(), [&](std::uint32_t other) {
      return problem.columns[other] == column;
    });
    if (known != columns.end()) {
      demands[static_cast<std::size_t>(known - columns.begin())] += flow.cap;
      continue;
    }
    columns.push_back(flow.column);
    uses.push_back({0, parts * use->weight});
    demands.push_back(flow.cap);
  }
  std::vector<CappedFlow> ports{{{&once, 1}, Transport::no_cap}};
  for (std::size_t port = 0; port < columns.size(); ++port) {
    ports.push_back({{&uses[port], 1}, std::min(demands[port], narrowest(problem, columns[port]))});
  }
  return max_min_rates({&capacity, 1}, ports).front() / parts;
}

}  // namespace

std::vector<double> rates_in_turn(const FlowProblem& problem, std::span<const ColumnFlow> flows,
                                  const std::vector<bool>& never_full) {
  std::vector<CappedFlow> others;
  std::vector<CappedFlow> copies;
  for (const ColumnFlow& flow : flows) {
    (problem.is_copy(flow.column) ? copies : others)
        .push_back({problem.columns[flow.column], flow.cap});
  }
  std::vector<double> capacity;
  for (std::uint32_t row = 0; row < problem.capacity.size(); ++row) {
    const bool all = !never_full.empty() && never_full[row];
    capacity.push_back(all ? problem.capacity[row] : others_share(problem, flows, row));
  }
  const std::vector<double> of_others = max_min_rates(capacity, others);
  capacity = problem.capacity;
  for (std::size_t f = 0; f < others.size(); ++f) {
    for (const RowUse& use : others[f].uses) capacity[use.row] -= use.weight * of_others[f];
  }
  const std::vector<double> of_copies = max_min_rates(capacity, copies);
  std::vector<double> rates;
  auto other = of_others.begin();
  auto copy = of_copies.begin();
  for (const ColumnFlow& flow : flows) {
    rates.push_back(problem.is_copy(flow.column) ? *copy++ : *other++);
  }
  return rates;
}

}  // namespace gradwire
