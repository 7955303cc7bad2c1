#include "sim/engine/route_classes.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <functional>
#include <iterator>
#include <numeric>
#include <unordered_map>
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
        holds_(problem.capacity.size(), 0),
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

  [[nodiscard]] bool is_never_full(std::uint32_t row) {
    const double capacity = problem_.capacity[row];
    return through_narrowest(row) <= capacity || through_fewest(row) <= capacity;
  }

  /// The rows beside it that are not dropped.
  template <class Visit>
  void visit_others(std::uint32_t row, std::uint32_t column, Visit visit) const {
    for (const RowUse& use : problem_.columns[column]) {
      if (use.row != row && !dropped_[use.row]) visit(use);
    }
  }

  [[nodiscard]] double most(const Passing& passing, const RowUse& use) const {
    return problem_.capacity[use.row] * passing.weight / use.weight;
  }

  /// What the row gets at most if each column is held by its narrowest other row.
  double through_narrowest(std::uint32_t row) {
    std::vector<std::uint32_t> met;
    double sum = 0;
    for (const Passing& passing : columns_of_[row]) {
      std::uint32_t narrow = row;
      double least = Transport::no_cap;
      visit_others(row, passing.column, [&](const RowUse& use) {
        if (most(passing, use) >= least) return;
        least = most(passing, use);
        narrow = use.row;
      });
      if (narrow == row) sum = Transport::no_cap;
      if (through_[narrow] == 0) met.push_back(narrow);
      through_[narrow] = std::max(through_[narrow], least);
    }
    for (const std::uint32_t other : met) sum += std::exchange(through_[other], 0.0);
    return sum;
  }

  /// If other rows hold as many columns as they can, one row after the other.
  double through_fewest(std::uint32_t row) {
    std::vector<Passing> left = columns_of_[row];
    double sum = 0;
    while (!left.empty() && sum <= problem_.capacity[row]) {
      std::uint32_t best = row;
      for (const Passing& passing : left) {
        visit_others(row, passing.column, [&](const RowUse& use) {
          const std::size_t held = ++holds_[use.row];
          if (best == row || held > holds_[best]) best = use.row;
        });
      }
      for (const Passing& passing : left) {
        visit_others(row, passing.column, [&](const RowUse& use) { holds_[use.row] = 0; });
      }
      if (best == row) return Transport::no_cap;
      double let_through = 0;
      std::erase_if(left, [&](const Passing& passing) {
        bool held = false;
        visit_others(row, passing.column, [&](const RowUse& use) {
          if (use.row != best) return;
          let_through = std::max(let_through, most(passing, use));
          held = true;
        });
        return held;
      });
      sum += let_through;
    }
    return sum;
  }

  const FlowProblem& problem_;
  std::vector<std::vector<Passing>> columns_of_;  ///< by row
  std::vector<bool> dropped_;
  std::vector<std::size_t> holds_;  ///< by row, of one that is looked at: columns of both
  std::vector<double> through_;     ///< by row, the most that it lets through to that one
};

struct UsesHash {
  std::size_t operator()(const std::vector<RowUse>& uses) const {
    std::size_t seed = 0;
    for (const RowUse& use : uses) {
      boost::hash_combine(seed, use.row);
      boost::hash_combine(seed, use.weight);
    }
    return seed;
  }
};

}  // namespace

RouteClasses::RouteClasses(const FlowProblem& problem) {
  const std::vector<bool> dropped = NeverFull(problem).find();
  std::unordered_map<std::vector<RowUse>, std::uint32_t, UsesHash> known;
  known.reserve(problem.columns.size());
  std::vector<const std::vector<RowUse>*> routes;
  std::vector<std::uint32_t> used_by(problem.capacity.size(), 0);
  for (const auto& column : problem.columns) {
    std::vector<RowUse> kept;
    std::ranges::copy_if(column, std::back_inserter(kept),
                         [&](const RowUse& use) { return !dropped[use.row]; });
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto [found, is_new] = known.try_emplace(std::move(kept), next);
    of.push_back(found->second);
    if (!is_new) continue;
    routes.push_back(&found->first);
    for (const RowUse& use : found->first) ++used_by[use.row];
  }
  begin.push_back(0);
  for (const auto* route : routes) {
    double& through = own.emplace_back(Transport::no_cap);
    for (const RowUse& use : *route) {
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
