#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/cost/collective_library.hpp"
#include "sim/engine/network.hpp"
#include "sim/train/job.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

[[nodiscard]] inline CollectiveUse use_of(const Collective& collective) {
  return {collective.kind, collective.communicator, collective.part, collective.root};
}

/// A strategy posted messages by an exchange that was not laid.
class ExchangeNotLaid : public std::logic_error {
 public:
  ExchangeNotLaid() : std::logic_error("messages by an exchange that was not laid") {}
};

/// All that can be in flight in a run: of each collective that a strategy or a program may post
/// those of the library's algorithms, and the strategies' own exchanges.
class Plans {
 public:
  /// Groups of different sizes do the same at once, at the cost of the largest of them.
  /// @throws UnsupportedConfiguration when the library has no way, or not the same for all groups
  /// of a communicator; as lay_exchange.
  /// @param strategies  the instances, one a class of the job's ranks.
  /// @param laid  which of each one's exchanges are, by index; nothing: all.
  /// @param fold  patterns may be folded (MachineFold).
  Plans(const Job& job, const std::vector<const Strategy*>& strategies,
        const std::vector<std::vector<bool>>& laid = {}, bool fold = false);

  /// For the engine; PatternId is the index. Those of exchanges, the last ones, until was_read().
  [[nodiscard]] std::span<const Pattern> patterns() const { return patterns_; }
  [[nodiscard]] const Pattern& pattern(PatternId id) const {
    return patterns_[static_cast<std::size_t>(id)];
  }

  /// The engine has read a pattern: of an exchange nothing else asks. With the last one they are
  /// gone.
  void was_read(PatternId id);

  struct Choice {
    PatternId pattern = 0;
    CollectiveCost cost;
  };
  /// What the library takes; null in groups of one rank, where it returns at once.
  /// @param instance  whose ranks do it.
  /// @param is_new  set to whether it was asked for the first time.
  const Choice* choose(std::size_t instance, CollectiveUse collective, Bytes size, bool& is_new);
  /// A message from the ranks of a class to their counterparts in another one.
  [[nodiscard]] static CollectiveUse send_to(const Job& job, int rank_class);
  /// The pattern of an instance's own exchange `index`. @throws ExchangeNotLaid
  [[nodiscard]] PatternId exchange(std::size_t instance, int index) const {
    const PatternId id = exchange_ids_[instance][static_cast<std::size_t>(index)];
    if (id == not_laid) throw ExchangeNotLaid();
    return id;
  }
  [[nodiscard]] const CollectiveCost& exchange_cost(PatternId id) const {
    return *exchange_costs_[static_cast<std::size_t>(id - exchanges_)];
  }
  /// A rank, and what it sends over links: bytes / size of what is moved.
  using RankShare = std::pair<int, double>;
  /// Of each rank that sends in a pattern, by rank.
  [[nodiscard]] std::vector<RankShare> shares(PatternId id) const;

 private:
  struct Group {
    /// Of the largest group, what the library chooses among; empty: the patterns themselves.
    std::vector<Pattern> candidates;
    PatternId first = 0;  ///< of all groups together, one a candidate
    std::size_t size = 0;
  };

  using Use = std::pair<std::size_t, CollectiveUse>;  ///< of an instance

  [[nodiscard]] std::span<const Pattern> candidates_of(const Group& group) const {
    if (!group.candidates.empty()) return group.candidates;
    return patterns().subspan(static_cast<std::size_t>(group.first), group.size);
  }
  /// Plans a collective that all these groups do at once.
  void add(const Use& use, const std::vector<std::vector<int>>& groups);
  void add_exchange(const Exchange& exchange);

  const Job& job_;
  bool fold_;
  std::vector<Pattern> patterns_;
  std::map<Use, Group> groups_;
  std::map<std::pair<Use, std::int64_t>, Choice> choices_;
  static constexpr PatternId not_laid = -1;
  PatternId exchanges_ = 0;                           ///< the first one
  std::vector<std::vector<PatternId>> exchange_ids_;  ///< by instance and index
  std::map<Seconds, CollectiveCost> exchange_cost_;   ///< by start-up: most have the same
  std::vector<const CollectiveCost*> exchange_costs_;
  /// Of exchanges: those in a row that are alike have one; the first is of those without any.
  std::vector<std::vector<RankShare>> exchange_shares_{{}};
  std::vector<std::uint32_t> shares_of_;  ///< exchange -> which of them
};

}  // namespace gradwire
