#include "sim/collectives/exchanges.hpp"

#include <bit>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>

namespace gradwire {

Fold::Fold(int ranks)
    : ranks_(ranks), partners_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))) {
  assert(ranks >= 1);
}

Schedule Fold::hand_over(double share) const {
  if (folded() == 0) return {};
  Round round;
  for (int index = 0; index < folded(); ++index) {
    round.messages.push_back({.source = 2 * index + 1, .destination = 2 * index, .share = share});
  }
  return {round};
}

Schedule Fold::hand_back(double share) const {
  return mirrored(hand_over(share));
}

std::vector<int> Fold::weights() const {
  std::vector<int> weights(static_cast<std::size_t>(partners_), 1);
  for (int index = 0; index < folded(); ++index) weights[static_cast<std::size_t>(index)] = 2;
  return weights;
}

Schedule exchange_all_gather(const Fold& fold, const std::vector<int>& weights, Distance distance) {
  const int partners = fold.partners();
  assert(std::ssize(weights) == partners);
  const double total = std::accumulate(weights.begin(), weights.end(), 0);
  std::vector<int> held = weights;
  Schedule schedule;
  for (int done = 1; done < partners; done *= 2) {
    const int apart = distance == Distance::doubling ? done : partners / done / 2;
    const auto partner = [&](int index) { return static_cast<std::size_t>(index ^ apart); };
    Round round;
    round.messages.reserve(static_cast<std::size_t>(partners));
    std::vector<int> after = held;
    for (int index = 0; index < partners; ++index) {
      round.messages.push_back({.source = fold.rank_of(index),
                                .destination = fold.rank_of(index ^ apart),
                                .share = held[static_cast<std::size_t>(index)] / total});
      after[partner(index)] += held[static_cast<std::size_t>(index)];
    }
    held = std::move(after);
    schedule.push_back(std::move(round));
  }
  return schedule;
}

Schedule folded_all_gather(const Fold& fold, Distance distance) {
  Schedule schedule = fold.hand_over(1.0 / fold.ranks());
  append(schedule, exchange_all_gather(fold, fold.weights(), distance));
  append(schedule, fold.hand_back(static_cast<double>(fold.ranks() - 1) / fold.ranks()));
  return schedule;
}

}  // namespace gradwire
