#include "sim/collectives/planners.hpp"

#include "sim/collectives/exchanges.hpp"

namespace gradwire {
namespace {

constexpr const char* recursive_doubling_name = "recursive_doubling";

}  // namespace

Pattern plan_recursive_doubling_all_reduce(const Cluster& cluster, const Placement& members) {
  const Fold fold(static_cast<int>(members.size()));
  Schedule exchanges = exchange_all_gather(fold, fold.weights(), Distance::doubling);
  for (Round& round : exchanges) {
    for (ScheduledMessage& message : round.messages) message.share = 1;
  }
  Schedule schedule = fold.hand_over(1);
  append(schedule, exchanges);
  append(schedule, fold.hand_back(1));
  return lay_out(schedule, CollectiveKind::all_reduce, recursive_doubling_name, cluster, members);
}

Pattern plan_recursive_doubling_all_gather(const Cluster& cluster, const Placement& members) {
  const Fold fold(static_cast<int>(members.size()));
  return lay_out(folded_all_gather(fold, Distance::doubling), CollectiveKind::all_gather,
                 recursive_doubling_name, cluster, members);
}

}  // namespace gradwire
