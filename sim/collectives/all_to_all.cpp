#include "sim/collectives/planners.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/collectives/machines.hpp"
#include "sim/collectives/schedule.hpp"

namespace gradwire {
namespace {

/// A shift and how many it stands for.
struct Shift {
  int by = 0;
  int weight = 0;
};

/// Most ranks that a machine has.
int widest_machine(const Cluster& cluster, const Placement& members) {
  std::size_t most = 0;
  for (const Machine& machine : machines_of(cluster, members)) {
    most = std::max(most, machine.ranks.size());
  }
  return static_cast<int>(most);
}

/// Of shifts `first` to `first + all - 1` one of each of `count` even ranges, near its middle; of
/// different remainders by `near`, so that equal and different places on the machines meet.
void sample(int first, int all, int count, int near, std::vector<Shift>& shifts) {
  const auto bound = [&](int index) {
    return first + static_cast<int>(static_cast<std::int64_t>(all) * index / count);
  };
  for (int i = 0; i < count; ++i) {
    const int middle = (bound(i) + bound(i + 1)) / 2;
    const int by = std::clamp(middle - middle % near + i % near, bound(i), bound(i + 1) - 1);
    shifts.push_back({.by = by, .weight = bound(i + 1) - bound(i)});
  }
}

/// `count` shifts that stand for all; every one when there are no more.
/// @param near  shifts below this stay partly inside a machine.
std::vector<Shift> choose_shifts(int ranks, int count, int near) {
  std::vector<Shift> shifts;
  const int all = ranks - 1;
  if (count >= all) {
    for (int by = 1; by <= all; ++by) shifts.push_back({.by = by, .weight = 1});
    return shifts;
  }
  // Of g ranks in a row on a machine, g - s stay inside at shift s: half of them on average.
  const int beside = near - 1;
  if (near > 1) shifts.push_back({.by = near / 2, .weight = beside});
  sample(near, all - 2 * beside, near > 1 ? count - 2 : count, near, shifts);
  if (near > 1) shifts.push_back({.by = ranks - near / 2, .weight = beside});
  return shifts;
}

int shifts_for(const Cluster& cluster, const Placement& members) {
  const auto ranks = static_cast<int>(members.size());
  const bool is_exact = ranks <= all_to_all_exact_ranks ||
                        ranks < all_to_all_machines_min * widest_machine(cluster, members);
  return is_exact ? std::max(ranks, 1) : all_to_all_shifts;
}

}  // namespace

Pattern plan_all_to_all(const Cluster& cluster, const Placement& members,
                        const AllToAllOptions& options) {
  const auto ranks = static_cast<int>(members.size());
  const int near = widest_machine(cluster, members);
  assert(options.shifts >= ranks - 1 ||
         (options.shifts >= 3 && ranks - 1 - 2 * (near - 1) >= options.shifts));
  Schedule schedule;
  for (const Shift& shift : choose_shifts(ranks, options.shifts, near)) {
    if (schedule.empty() || !options.at_once) schedule.emplace_back();
    Round& round = schedule.back();
    if (!options.at_once) round.steps = shift.weight;
    for (int rank = 0; rank < ranks; ++rank) {
      round.messages.push_back({.source = rank,
                                .destination = (rank + shift.by) % ranks,
                                .share = static_cast<double>(shift.weight) / ranks});
    }
  }
  return lay_out(schedule, CollectiveKind::all_to_all, options.at_once ? "direct" : "pairwise",
                 cluster, members);
}

Pattern plan_pairwise_all_to_all(const Cluster& cluster, const Placement& members) {
  return plan_all_to_all(cluster, members,
                         {.at_once = false, .shifts = shifts_for(cluster, members)});
}

Pattern plan_direct_all_to_all(const Cluster& cluster, const Placement& members) {
  return plan_all_to_all(cluster, members,
                         {.at_once = true, .shifts = shifts_for(cluster, members)});
}

}  // namespace gradwire
