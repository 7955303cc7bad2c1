#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/cost/collective_library.hpp"
#include "sim/engine/network.hpp"
#include "sim/train/training.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// All that can be in flight in a run: of each collective that the strategy may post those of the
/// library's algorithms, and the strategy's own exchanges.
class Plans {
 public:
  /// Groups of different sizes do the same at once, at the cost of the largest of them.
  /// @throws RefusedChoice when the library has no way, or not the same for all groups of a
  /// communicator; as lay_exchange.
  Plans(const Job& job, const Strategy& strategy);

  /// For the engine; PatternId is the index.
  [[nodiscard]] std::span<const Pattern> patterns() const { return patterns_; }
  [[nodiscard]] const Pattern& pattern(PatternId id) const {
    return patterns_[static_cast<std::size_t>(id)];
  }

  struct Choice {
    PatternId pattern = 0;
    CollectiveCost cost;
  };
  /// What the library takes; null in groups of one rank, where it returns at once.
  /// @param is_new  set to whether it was asked for the first time.
  const Choice* choose(CollectiveUse use, Bytes size, bool& is_new);
  /// The pattern of the strategy's own exchange `index`.
  [[nodiscard]] PatternId exchange(int index) const { return exchanges_ + index; }
  [[nodiscard]] const CollectiveCost& exchange_cost(int index) const {
    return exchange_costs_[static_cast<std::size_t>(index)];
  }
  /// What each rank that sends over links sends in a pattern: bytes / size of what is moved.
  [[nodiscard]] std::map<int, double> shares(PatternId id) const;

 private:
  struct Group {
    std::vector<Pattern> candidates;  ///< of the largest group, what the library chooses among
    PatternId first = 0;              ///< of all groups together, one a candidate
  };

  const CollectiveLibrary& library_;
  std::vector<Pattern> patterns_;
  std::map<CollectiveUse, Group> groups_;
  std::map<std::pair<CollectiveUse, std::int64_t>, Choice> choices_;
  PatternId exchanges_ = 0;
  std::vector<CollectiveCost> exchange_costs_;
  std::vector<std::map<int, double>> exchange_shares_;  ///< by rank
};

}  // namespace gradwire
