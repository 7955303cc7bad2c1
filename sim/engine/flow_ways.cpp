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
class NeverFull {
 public:
  explicit NeverFull(const FlowProblem& problem)
      : problem_(problem),
        columns_of_(problem.capacity.size()),
        dropped_(problem.capacity.size(), false),
        passing_(problem.capacity.size(), 0),
        through_(problem.capacity.size(), 0) {
    for (std::uint32_t column = 0; column < problem.columns.size(); ++column) {
      for (const RowUse& use : problem.columns[column]) {
        columns_of_[use.row].push_back({column, use.weight});
      }
    }
  }

  std::vector<bool> find() && {
    std::vector<std::uint32_t> widest_first(problem_.capacity.size());
    std::iota(widest_first.begin(), widest_first.end(), 0U);
    std::ranges::stable_sort(widest_first, std::greater<>(),
                             [&](std::uint32_t row) { return problem_.capacity[row]; });
    for (const std::uint32_t row : widest_first) dropped_[row] = is_never_full(row);
    return std::move(dropped_);
  }

 private:
  struct Passing {
    std::uint32_t column = 0;
    std::uint32_t weight = 0;
  };

  /// With each column through its narrowest other row, or most of them through the same.
  bool is_never_full(std::uint32_t row) {
    const auto& columns = columns_of_[row];
    std::vector<std::uint32_t> others;
    for (const auto& [column, weight] : columns) {
      for (const RowUse& use : problem_.columns[column]) {
        if (use.row == row || dropped_[use.row]) continue;
        if (passing_[use.row]++ == 0) others.push_back(use.row);
      }
    }
    std::erase_if(others, [&](std::uint32_t other) {
      return 2 * std::exchange(passing_[other], 0U) <= columns.size();
    });
    const double capacity = problem_.capacity[row];
    return let_through(row, row) <= capacity || std::ranges::any_of(others, [&](auto other) {
             return let_through(row, other) <= capacity;
           });
  }

  /// What a row gets at most of others: of `first` where a column passes it, else of its narrowest.
  double let_through(std::uint32_t row, std::uint32_t first) {
    double sum = 0;
    met_.clear();
    for (const auto& [column, weight] : columns_of_[row]) {
      std::uint32_t narrow = row;
      double least = Transport::no_cap;
      for (const RowUse& use : problem_.columns[column]) {
        if (use.row == row || dropped_[use.row]) continue;
        const double most = problem_.capacity[use.row] * weight / use.weight;
        if (most >= least && use.row != first) continue;
        least = most;
        narrow = use.row;
        if (use.row == first) break;
      }
      if (narrow == row) sum = Transport::no_cap;
      if (narrow == row) break;
      if (through_[narrow] == 0) met_.push_back(narrow);
      through_[narrow] = std::max(through_[narrow], least);
    }
    for (const std::uint32_t other : met_) sum += std::exchange(through_[other], 0.0);
    return sum;
  }

  const FlowProblem& problem_;
  std::vector<std::vector<Passing>> columns_of_;  ///< by row
  std::vector<bool> dropped_;
  std::vector<std::size_t> passing_;  ///< by row, of one that is looked at: columns of both
  std::vector<double> through_;       ///< by row, the most that it lets through to that one
  std::vector<std::uint32_t> met_;
};

}  // namespace

FlowWays::FlowWays(const FlowProblem& problem) {
  const std::vector<bool> dropped = NeverFull(problem).find();
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
