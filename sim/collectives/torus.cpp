#include "sim/collectives/planners.hpp"

#include <fmt/format.h>
#include <boost/range/adaptor/reversed.hpp>

#include "sim/collectives/machines.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/core/error.hpp"

namespace gradwire {
namespace {

/// In three dimensions a ring of fewer ranks would be no shorter way than two dimensions: our
/// choice.
constexpr int least_of_three = 4;

/// The largest divisor d of n with d^power <= n.
int near_root(int n, int power) {
  int best = 1;
  for (int d = 1; d <= n; ++d) {
    int volume = 1;
    for (int i = 0; i < power && volume <= n; ++i) volume *= d;
    if (volume > n) break;
    if (n % d == 0) best = d;
  }
  return best;
}

/// Appends a phase of rings along one dimension, all at the same time.
/// @param stride  between neighbours; @param share  that each rank passes on.
void append_dimension(const Cluster& cluster, const Placement& members, int size, int stride,
                      double share, Pattern& pattern) {
  pattern.phases.push_back({.flows = {}, .steps = size - 1, .coupling = Coupling::ring});
  pattern.phases.back().flows.reserve(members.size());
  const int ranks = pattern.ranks;
  for (int block = 0; block < ranks; block += size * stride) {
    for (int offset = 0; offset < stride; ++offset) {
      for (int i = 0; i < size; ++i) {
        const ScheduledMessage message{.source = block + offset + i * stride,
                                       .destination = block + offset + (i + 1) % size * stride,
                                       .share = share};
        append_message(cluster, members, message, block + offset, pattern);
      }
    }
  }
}

}  // namespace

std::vector<int> torus_dimensions(int ranks) {
  const int first = near_root(ranks, 3);
  if (first >= least_of_three) {
    const int second = near_root(ranks / first, 2);
    if (second >= least_of_three) return {first, second, ranks / first / second};
  }
  const int side = near_root(ranks, 2);
  if (side < 2) return {};
  return {side, ranks / side};
}

Pattern plan_torus_all_reduce(const Cluster& cluster, const Placement& members) {
  Pattern pattern;
  pattern.kind = CollectiveKind::all_reduce;
  pattern.algorithm = "torus";
  pattern.ranks = static_cast<int>(members.size());
  pattern.machines = static_cast<int>(machines_of(cluster, members).size());
  if (members.size() > 1) {
    const std::vector<int> dimensions = torus_dimensions(pattern.ranks);
    if (dimensions.empty()) {
      throw SimulationError(fmt::format(
          "torus needs a number of ranks that has divisors; {} is prime; use ring", pattern.ranks));
    }
    pattern.channels = 1;
    struct Turn {
      int size = 0;
      int stride = 0;
      double share = 0;
    };
    std::vector<Turn> turns;
    int stride = 1;
    for (const int size : boost::adaptors::reverse(dimensions)) {
      turns.push_back({size, stride, (size - 1.0) / size / stride});
      stride *= size;
    }
    for (const Turn& turn : turns) {
      append_dimension(cluster, members, turn.size, turn.stride, turn.share, pattern);
    }
    for (const Turn& turn : boost::adaptors::reverse(turns)) {
      append_dimension(cluster, members, turn.size, turn.stride, turn.share, pattern);
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
