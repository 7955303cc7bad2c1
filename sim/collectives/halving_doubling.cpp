#include "sim/collectives/planners.hpp"

#include <bit>
#include <cstddef>

#include "sim/collectives/exchanges.hpp"

namespace gradwire {
namespace {

constexpr const char* halving_doubling_name = "halving_doubling";

/// Consecutive ranks, a power of two.
struct Block {
  int first = 0;
  int size = 0;
};

/// The ranks in blocks of falling powers of two.
std::vector<Block> binary_blocks(int ranks) {
  std::vector<Block> blocks;
  for (int first = 0; first < ranks;) {
    const auto left = static_cast<unsigned>(ranks - first);
    blocks.push_back({.first = first, .size = static_cast<int>(std::bit_floor(left))});
    first += blocks.back().size;
  }
  return blocks;
}

/// Each block halves by itself, then hands its parts to the next larger block: rank v of s holds
/// what ranks v, v + s, v + 2s, ... of the larger block hold parts of.
Schedule reduce_in_blocks(int ranks) {
  const std::vector<Block> blocks = binary_blocks(ranks);
  Schedule schedule(static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks)) - 1));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [first, size] = blocks[i];
    std::size_t round = 0;
    for (int apart = 1; apart < size; apart *= 2, ++round) {
      for (int v = 0; v < size; ++v) {
        schedule[round].messages.push_back(
            {.source = first + v, .destination = first + (v ^ apart), .share = 0.5 / apart});
      }
    }
    if (i == 0) continue;
    const Block& larger = blocks[i - 1];
    for (int u = 0; u < larger.size; ++u) {
      schedule[round].messages.push_back({.source = first + u % size,
                                          .destination = larger.first + u,
                                          .share = 1.0 / larger.size});
    }
  }
  return schedule;
}

}  // namespace

Pattern plan_halving_doubling_all_reduce(const Cluster& cluster, const Placement& members) {
  Schedule schedule = reduce_in_blocks(static_cast<int>(members.size()));
  append(schedule, mirrored(schedule));
  return lay_out(schedule, CollectiveKind::all_reduce, halving_doubling_name, cluster, members);
}

Pattern plan_halving_doubling_reduce_scatter(const Cluster& cluster, const Placement& members) {
  const Fold fold(static_cast<int>(members.size()));
  return lay_out(mirrored(folded_all_gather(fold, Distance::halving)),
                 CollectiveKind::reduce_scatter, halving_doubling_name, cluster, members);
}

Pattern plan_halving_doubling_all_gather(const Cluster& cluster, const Placement& members) {
  const Fold fold(static_cast<int>(members.size()));
  return lay_out(folded_all_gather(fold, Distance::halving), CollectiveKind::all_gather,
                 halving_doubling_name, cluster, members);
}

}  // namespace gradwire
