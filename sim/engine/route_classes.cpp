#include "sim/engine/route_classes.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <deque>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
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

/// Of a route's rows those that as many routes pass as one of them, and that it loads as much.
std::vector<std::uint32_t> rows_like(const RowUse& use, const std::vector<RowUse>& route,
                                     const std::vector<std::uint32_t>& used_by) {
  std::vector<std::uint32_t> rows;
  for (const RowUse& other : route) {
    const bool is_like = used_by[other.row] == used_by[use.row] && other.weight == use.weight;
    if (is_like) rows.push_back(other.row);
  }
  return rows;
}

/// What the narrowest of a column's rows lets through.
double narrowest(const FlowProblem& problem, std::size_t column) {
  double most = Transport::no_cap;
  for (const RowUse& use : problem.columns[column]) {
    most = std::min(most, problem.capacity[use.row] / use.weight);
  }
  return most;
}

}  // namespace

std::vector<std::uint32_t> RouteClasses::pair_rows(const FlowProblem& problem,
                                                   const std::vector<bool>& dropped) {
  std::vector<std::uint32_t> turns_of(capacity.size(), no_turns);
  if (problem.copies.empty()) return turns_of;
  std::vector<bool> by_others(capacity.size(), false);
  for (std::size_t column = 0; column < problem.columns.size(); ++column) {
    if (problem.is_copy(column)) continue;
    for (const RowUse& use : problem.columns[column]) by_others[use.row] = true;
  }
  for (std::size_t column = 0; column < problem.columns.size(); ++column) {
    if (!problem.is_copy(column)) continue;
    for (const RowUse& use : problem.columns[column]) {
      if (dropped[use.row] || !by_others[use.row] || turns_of[use.row] != no_turns) continue;
      turns_of[use.row] = static_cast<std::uint32_t>(turns.size());
      const double both = capacity[use.row];
      turns.push_back({.others = use.row,
                       .copies = static_cast<std::uint32_t>(capacity.size()),
                       .capacity = both,
                       .most = both,
                       .port = 1.0 / problem.parts_of(use.row)});
      capacity.push_back(both);
    }
  }
  return turns_of;
}

std::vector<RowUse> RouteClasses::uses_of(const FlowProblem& problem, std::size_t column,
                                          const std::vector<bool>& dropped,
                                          const std::vector<std::uint32_t>& turns_of) const {
  std::vector<RowUse> kept;
  std::ranges::copy_if(problem.columns[column], std::back_inserter(kept),
                       [&](const RowUse& use) { return !dropped[use.row]; });
  if (!problem.is_copy(column)) return kept;
  for (RowUse& use : kept) {
    if (turns_of[use.row] != no_turns) use.row = turns[turns_of[use.row]].copies;
  }
  return kept;
}

RouteClasses::RouteClasses(const FlowProblem& problem) : capacity(problem.capacity) {
  const std::vector<bool> dropped = NeverFull(problem).find();
  const std::vector<std::uint32_t> turns_of = pair_rows(problem, dropped);
  std::unordered_map<std::vector<RowUse>, std::uint32_t, UsesHash> known;
  known.reserve(problem.columns.size());
  std::vector<const std::vector<RowUse>*> routes;
  std::deque<std::vector<RowUse>> of_copies;
  std::vector<std::uint32_t> used_by(capacity.size(), 0);
  for (std::size_t column = 0; column < problem.columns.size(); ++column) {
    std::vector<RowUse> key = uses_of(problem, column, dropped, turns_of);
    const bool copies = problem.is_copy(column);
    if (copies) {
      const auto& all = problem.columns[column];
      of_copies.push_back(key);
      key.insert(key.end(), all.begin(), all.end());
    }
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto [found, is_new] = known.try_emplace(std::move(key), next);
    of.push_back(found->second);
    if (!is_new) continue;
    routes.push_back(copies ? &of_copies.back() : &found->first);
    for (const RowUse& use : *routes.back()) ++used_by[use.row];
    most.push_back(copies ? narrowest(problem, column) : Transport::no_cap);
  }
  split_uses(routes, used_by, turns_of, merge_series(routes, used_by, turns_of));
}

std::vector<bool> RouteClasses::merge_series(const std::vector<const std::vector<RowUse>*>& routes,
                                             const std::vector<std::uint32_t>& used_by,
                                             const std::vector<std::uint32_t>& turns_of) {
  // By `turns`: of the rows that pass as many routes, those that are on all of its routes so far.
  std::vector<std::optional<std::vector<std::uint32_t>>> beside(turns.size());
  for (const auto* route : routes) {
    for (const RowUse& use : *route) {
      const std::uint32_t number = use.row < turns_of.size() ? turns_of[use.row] : no_turns;
      if (number == no_turns || used_by[use.row] == 1) continue;
      std::vector<std::uint32_t> like = rows_like(use, *route, used_by);
      if (!beside[number]) {
        beside[number] = std::move(like);
      } else {
        std::erase_if(*beside[number], [&](std::uint32_t row) {
          return std::ranges::find(like, row) == like.end();
        });
      }
    }
  }
  std::vector<bool> merged(capacity.size(), false);
  for (std::size_t number = 0; number < turns.size(); ++number) {
    for (const std::uint32_t row : beside[number].value_or(std::vector<std::uint32_t>())) {
      if (turns_of[row] != no_turns) continue;
      turns[number].most = std::min(turns[number].most, capacity[row]);
      merged[row] = true;
    }
    capacity[turns[number].others] = turns[number].most;
  }
  return merged;
}

void RouteClasses::split_uses(const std::vector<const std::vector<RowUse>*>& routes,
                              const std::vector<std::uint32_t>& used_by,
                              const std::vector<std::uint32_t>& turns_of,
                              const std::vector<bool>& merged) {
  const auto takes_turns = [&](std::uint32_t row) {
    return row >= turns_of.size() || turns_of[row] != no_turns;
  };
  begin.push_back(0);
  for (const auto* route : routes) {
    double& through = own.emplace_back(Transport::no_cap);
    for (const RowUse& use : *route) {
      if (used_by[use.row] == 1 && !takes_turns(use.row)) {
        through = std::min(through, capacity[use.row] / use.weight);
      } else if (!merged[use.row]) {
        uses.push_back(use);
      }
    }
    begin.push_back(static_cast<std::uint32_t>(uses.size()));
  }
}

}  // namespace gradwire
