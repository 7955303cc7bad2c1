#include "sim/engine/flow_ways.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace gradwire {
namespace {

/// Rows that others keep from ever being full: what they let through is no more than its capacity.
std::vector<bool> never_full(const FlowProblem& problem) {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> columns_of(
      problem.capacity.size());  // row -> columns and weights
  for (std::uint32_t column = 0; column < problem.columns.size(); ++column) {
    for (const RowUse& use : problem.columns[column]) {
      columns_of[use.row].emplace_back(column, use.weight);
    }
  }
  std::vector<std::uint32_t> widest_first(problem.capacity.size());
  std::iota(widest_first.begin(), widest_first.end(), 0U);
  std::ranges::stable_sort(widest_first, std::greater<>(),
                           [&](std::uint32_t row) { return problem.capacity[row]; });
  std::vector<bool> dropped(problem.capacity.size(), false);
  for (const std::uint32_t row : widest_first) {
    std::map<std::uint32_t, double> through;  // other row -> most that this row gets from it
    bool covered = true;
    for (const auto& [column, weight] : columns_of[row]) {
      std::uint32_t narrow = row;
      double least = Transport::no_cap;
      for (const RowUse& use : problem.columns[column]) {
        if (use.row == row || dropped[use.row]) continue;
        const double most = problem.capacity[use.row] * weight / use.weight;
        if (most < least) {
          least = most;
          narrow = use.row;
        }
      }
      covered = narrow != row;
      if (!covered) break;
      double& most = through[narrow];
      most = std::max(most, least);
    }
    double sum = 0;
    for (const auto& [other, most] : through) sum += most;
    dropped[row] = covered && sum <= problem.capacity[row];
  }
  return dropped;
}

}  // namespace

FlowWays::FlowWays(const FlowProblem& problem) {
  const std::vector<bool> dropped = never_full(problem);
  std::map<std::vector<RowUse>, std::uint32_t> known;
  std::vector<const std::vector<RowUse>*> ways;
  std::vector<std::uint32_t> used_by(problem.capacity.size(), 0);
  for (const auto& column : problem.columns) {
    std::vector<RowUse> kept;
    std::ranges::copy_if(column, std::back_inserter(kept),
                         [&](const RowUse& use) { return !dropped[use.row]; });
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto [found, is_new] = known.try_emplace(std::move(kept), next);
    of.push_back(found->second);
    if (!is_new) continue;
    ways.push_back(&found->first);
    for (const RowUse& use : found->first) ++used_by[use.row];
  }
  begin.push_back(0);
  for (const auto* way : ways) {
    double& through = own.emplace_back(Transport::no_cap);
    for (const RowUse& use : *way) {
      if (used_by[use.row] == 1) {
        through = std::min(through, problem.capacity[use.row] / use.weight);
      } else {
        uses.push_back(use);
      }
    }
    begin.push_back(static_cast<std::uint32_t>(uses.size()));
  }
}

}  // namespace gradwire
