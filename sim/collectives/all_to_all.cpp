#include "sim/collectives/all_to_all.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "sim/collectives/schedule.hpp"

namespace gradwire {
namespace {

/// A shift and how many it stands for.
struct Shift {
  int by = 0;
  int weight = 0;
};

/// Of shifts 1 to n-1 one of each of `count` even ranges.
std::vector<Shift> choose_shifts(int ranks, int count) {
  std::vector<Shift> shifts;
  const int all = ranks - 1;
  count = std::min(count, all);
  for (int i = 0; i < count; ++i) {
    const auto bound = [&](int index) {
      return static_cast<int>(static_cast<std::int64_t>(all) * index / count);
    };
    const int weight = bound(i + 1) - bound(i);
    const double turns = i / std::numbers::phi;
    const auto inside = static_cast<int>((turns - std::floor(turns)) * weight);
    shifts.push_back({.by = 1 + bound(i) + inside, .weight = weight});
  }
  return shifts;
}

int shifts_for(const Placement& members) {
  return std::ssize(members) <= all_to_all_exact_ranks ? all_to_all_exact_ranks : all_to_all_shifts;
}

}  // namespace

Pattern plan_all_to_all(const Cluster& cluster, const Placement& members,
                        const AllToAllOptions& options) {
  assert(options.shifts >= 1);
  const auto ranks = static_cast<int>(members.size());
  Schedule schedule;
  for (const Shift& shift : choose_shifts(ranks, options.shifts)) {
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
  return plan_all_to_all(cluster, members, {.at_once = false, .shifts = shifts_for(members)});
}

Pattern plan_direct_all_to_all(const Cluster& cluster, const Placement& members) {
  return plan_all_to_all(cluster, members, {.at_once = true, .shifts = shifts_for(members)});
}

}  // namespace gradwire
