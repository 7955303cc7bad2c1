#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/collectives/link_slots.hpp"
#include "sim/collectives/pattern.hpp"
#include "sim/core/index.hpp"
#include "sim/core/placement.hpp"
#include "sim/engine/flow_graph.hpp"

namespace gradwire {

/// What patterns move over the links that they use / size of the collective.
class LinkShares {
 public:
  explicit LinkShares(std::span<const Pattern> patterns);
  /// Of the patterns that the graph was made of: the same, also where these are gone.
  explicit LinkShares(const FlowGraph& graph);

  /// How many links any of them uses.
  [[nodiscard]] std::size_t used() const { return used_; }
  /// Adds `times` what a pattern moves over each link. REQUIRES: as many sums as `ids`.
  void add_to(std::vector<double>& sums, std::size_t pattern, double times) const;
  /// As many as there are links up to the last in use.
  [[nodiscard]] std::size_t ids() const { return ids_; }

 private:
  struct Share {
    LinkId link = 0;
    std::uint32_t value = 0;  ///< index into values_: thousands of links move the same
  };
  /// Of a pattern. The first shares are those of links that stand for other machines'.
  struct Part {
    std::size_t begin = 0;  ///< index into shares_
    std::size_t alone = 0;  ///< the first one that stands for itself
    LinkId stride = 0;      ///< from a machine's link to that of the next one
    std::size_t machines = 1;
  };

  /// Appends those of a pattern's links. @param slots  where each has its sum, which is 0 then.
  void append(const std::vector<LinkId>& links, const LinkSlots& slots, std::vector<double>& sums);
  /// All patterns have theirs.
  void finish();
  [[nodiscard]] std::uint32_t value_of(double share);
  void count_used();
  /// Calls visit(link, share) for each link of a pattern.
  template <class Visit>
  void visit(std::size_t pattern, Visit visit) const {
    const Part& part = parts_[pattern];
    for (std::size_t i = part.begin; i < parts_[pattern + 1].begin; ++i) {
      const std::size_t machines = i < part.alone ? part.machines : 1;
      for (std::size_t m = 0; m < machines; ++m) {
        visit(at(shares_[i].link) + m * at(part.stride), values_[shares_[i].value]);
      }
    }
  }

  std::vector<Part> parts_;   ///< of each pattern, and behind them one that begins at the end
  std::deque<Share> shares_;  ///< millions, of which no more is kept than there are
  std::vector<double> values_;
  std::unordered_map<double, std::uint32_t> known_;  ///< looked up, never walked
  std::size_t used_ = 0;
  std::size_t ids_ = 0;
};

}  // namespace gradwire
