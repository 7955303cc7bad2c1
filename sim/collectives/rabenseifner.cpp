#include "sim/collectives/planners.hpp"

#include <cstddef>
#include <vector>

#include "sim/collectives/exchanges.hpp"

namespace gradwire {
namespace {

constexpr const char* rabenseifner_name = "rabenseifner";

/// All-gather of what the partners hold after the reduce-scatter, equal parts of the vector.
Schedule doubling(const Fold& fold) {
  const std::vector<int> equal(static_cast<std::size_t>(fold.partners()), 1);
  return exchange_all_gather(fold, equal, Distance::halving);
}

}  // namespace

Pattern plan_rabenseifner_all_reduce(const Cluster& cluster, const Placement& members) {
  const Fold fold(static_cast<int>(members.size()));
  Schedule schedule = fold.hand_over(1);
  append(schedule, mirrored(doubling(fold)));
  append(schedule, doubling(fold));
  append(schedule, fold.hand_back(1));
  return lay_out(schedule, CollectiveKind::all_reduce, rabenseifner_name, cluster, members);
}

Pattern plan_rabenseifner_reduce(const Cluster& cluster, const Placement& members) {
  const Fold fold(static_cast<int>(members.size()));
  Schedule schedule = fold.hand_over(1);
  append(schedule, mirrored(doubling(fold)));
  for (int apart = fold.partners() / 2; apart >= 1; apart /= 2) {
    Round round;
    for (int index = apart; index < 2 * apart; ++index) {
      round.messages.push_back({.source = fold.rank_of(index),
                                .destination = fold.rank_of(index - apart),
                                .share = 0.5 / apart});
    }
    schedule.push_back(round);
  }
  return lay_out(schedule, CollectiveKind::reduce, rabenseifner_name, cluster, members);
}

}  // namespace gradwire
