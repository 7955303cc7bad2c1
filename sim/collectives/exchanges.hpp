#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/schedule.hpp"

namespace gradwire {

/// How the ranks of a job take part in exchanges between pairs, which need a power of two: of the
/// first 2r ranks, r = n - 2^k, the odd ones hand their data to the even one before them and get
/// the result from it (MPICH, src/mpi/coll/allreduce; there the even one hands over, at the same
/// cost: here rank 0, the root, stays).
class Fold {
 public:
  /// REQUIRES: ranks >= 1.
  explicit Fold(int ranks);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int partners() const { return partners_; }  ///< 2^k <= ranks
  [[nodiscard]] int folded() const { return ranks_ - partners_; }
  /// The rank that takes part as partner `index`, in [0, partners()).
  [[nodiscard]] int rank_of(int index) const {
    return index < folded() ? 2 * index : index + folded();
  }
  /// Every rank that does not take part sends `share` to the one that stands in for it.
  [[nodiscard]] Schedule hand_over(double share) const;
  /// ... and gets `share` back.
  [[nodiscard]] Schedule hand_back(double share) const;
  /// Ranks that each partner stands for: 1 or 2.
  [[nodiscard]] std::vector<int> weights() const;

 private:
  int ranks_;
  int partners_;
};

/// In which order pairs at distance 1, 2, 4, ... exchange.
enum class Distance : std::uint8_t { doubling, halving };

/// All-gather among the partners, log2(partners) rounds: each sends its partner all that it has.
/// Partner i begins with weights[i] / (sum of all) of the size. Backwards it is a reduce-scatter.
[[nodiscard]] Schedule exchange_all_gather(const Fold& fold, const std::vector<int>& weights,
                                           Distance distance);

/// All-gather among all ranks, each with 1/n of the size: the hand-over, the exchanges, and back.
[[nodiscard]] Schedule folded_all_gather(const Fold& fold, Distance distance);

}  // namespace gradwire
