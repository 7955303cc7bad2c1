#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/pattern.hpp"

/// What a pattern does to the ranks' data, told from its flows alone: no planner's word is taken
/// for it.
namespace gradwire::test {

/// Do switches do the sums and hand them out? Then flows say what links carry, not who gets what.
inline bool switches_reduce(std::string_view algorithm) {
  return algorithm.starts_with("nvls") || algorithm.starts_with("collnet");
}

/// Whose data each rank can have in the end: [rank] -> ranks. A rank passes on all it has; in a
/// phase of independent flows only what it had before the phase; around a ring one hop a step; in a
/// pipeline along the flows of a group in their order.
inline std::vector<std::set<int>> holders(const Pattern& pattern) {
  std::vector<std::set<int>> have(static_cast<std::size_t>(pattern.ranks));
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    have[static_cast<std::size_t>(rank)].insert(rank);
  }
  const auto pass = [](const PatternFlow& flow, const std::vector<std::set<int>>& from,
                       std::vector<std::set<int>>& to) {
    const auto& given = from[static_cast<std::size_t>(flow.source)];
    to[static_cast<std::size_t>(flow.destination)].insert(given.begin(), given.end());
  };
  for (const Phase& phase : pattern.phases) {
    if (phase.coupling == Coupling::pipeline) {
      std::set<int> groups;
      for (const PatternFlow& flow : phase.flows) groups.insert(flow.group);
      const std::vector<std::set<int>> before = have;
      for (const int group : groups) {
        std::vector<std::set<int>> inside = before;
        for (const PatternFlow& flow : phase.flows) {
          if (flow.group == group) pass(flow, inside, inside);
        }
        for (std::size_t rank = 0; rank < have.size(); ++rank) {
          have[rank].insert(inside[rank].begin(), inside[rank].end());
        }
      }
      continue;
    }
    const int hops = phase.coupling == Coupling::ring ? phase.steps : 1;
    for (int hop = 0; hop < hops; ++hop) {
      const std::vector<std::set<int>> before = have;
      for (const PatternFlow& flow : phase.flows) pass(flow, before, have);
      if (have == before) break;
    }
  }
  return have;
}

/// Whose data `rank` needs in the end.
inline std::set<int> needed(CollectiveKind kind, int rank, int ranks) {
  std::set<int> all;
  for (int other = 0; other < ranks; ++other) all.insert(other);
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      return all;
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      return rank == 0 ? all : std::set<int>{rank};
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return {0};
    case CollectiveKind::send_recv:
      return {(rank + ranks - 1) % ranks};
  }
  return {};
}

/// Of one rank's data, the part of the collective's size that a rank which needs them must get
/// something of: a whole vector, or one of n parts.
inline double needed_share(CollectiveKind kind, int ranks) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      return 1;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return 1.0 / ranks;
  }
  return 0;
}

/// The phases as layers of a network: what is at a rank before a phase can stay there, or go over
/// the phase's flows (several in a row where they are coupled), each up to its share.
class LayeredNetwork {
 public:
  explicit LayeredNetwork(const Pattern& pattern)
      : ranks_(static_cast<std::size_t>(pattern.ranks)),
        arcs_(ranks_ * (pattern.phases.size() + 1) + 2) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) add(arcs_.size() - 2, rank, 0);
    for (std::size_t layer = 0; layer < pattern.phases.size(); ++layer) {
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        add(node(layer, rank), node(layer + 1, rank), unlimited);
      }
      const Phase& phase = pattern.phases[layer];
      const std::size_t from = phase.coupling == Coupling::independent ? layer : layer + 1;
      for (const PatternFlow& flow : phase.flows) {
        add(node(from, static_cast<std::size_t>(flow.source)),
            node(layer + 1, static_cast<std::size_t>(flow.destination)), flow.share);
      }
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      add(node(pattern.phases.size(), rank), arcs_.size() - 1, 0);
    }
  }

  /// The largest share of the size that can go from ranks that have `supply` at the start to ranks
  /// that take `demand` in the end (augmenting paths, depth first).
  [[nodiscard]] double max_flow(const std::vector<double>& supply,
                                const std::vector<double>& demand) {
    const std::size_t source = arcs_.size() - 2;
    const std::size_t goal = arcs_.size() - 1;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      arcs_[source][rank].capacity = supply[rank];
      const Arc& back = arcs_[goal][rank];  // arcs into the goal are kept in order of rank
      arcs_[back.to][back.back].capacity = demand[rank];
    }
    for (auto& out : arcs_) {
      for (Arc& arc : out) arc.left = arc.capacity;
    }
    double sum = 0;
    while (true) {
      std::vector<bool> seen(arcs_.size(), false);
      const double more = push(source, goal, unlimited, seen);
      if (more < negligible) return sum;
      sum += more;
    }
  }

 private:
  static constexpr double unlimited = 1e9;
  static constexpr double negligible = 1e-12;

  struct Arc {
    std::size_t to = 0;
    std::size_t back = 0;  ///< index of the opposite arc in arcs_[to]
    double capacity = 0;
    double left = 0;
  };

  [[nodiscard]] std::size_t node(std::size_t layer, std::size_t rank) const {
    return layer * ranks_ + rank;
  }

  void add(std::size_t from, std::size_t to, double capacity) {
    arcs_[from].push_back({to, arcs_[to].size(), capacity, capacity});
    arcs_[to].push_back({from, arcs_[from].size() - 1, 0, 0});
  }

  double push(std::size_t at, std::size_t goal, double limit, std::vector<bool>& seen) {
    if (at == goal) return limit;
    seen[at] = true;
    for (Arc& arc : arcs_[at]) {
      if (seen[arc.to] || arc.left < negligible) continue;
      const double moved = push(arc.to, goal, std::min(limit, arc.left), seen);
      if (moved < negligible) continue;
      arc.left -= moved;
      arcs_[arc.to][arc.back].left += moved;
      return moved;
    }
    return 0;
  }

  std::size_t ranks_;
  std::vector<std::vector<Arc>> arcs_;
};

/// Are the parts that a rank needs of the others all different (not sums), so that all of them must
/// come in? Or those that others need of it, so that all must go out?
inline bool comes_in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::gather;
}
inline bool goes_out_in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::scatter;
}

/// What a pattern fails to do, in words; empty when its flows can do the collective. By max-flow
/// and min-cut: what one rank needs of another can come over the flows; so can what it needs of all
/// others, and what all others need of it, together where those are different parts.
inline std::string what_is_missing(const Pattern& pattern) {
  constexpr double rounding = 1e-9;
  const auto ranks = static_cast<std::size_t>(pattern.ranks);
  const double share = needed_share(pattern.kind, pattern.ranks);
  const auto have = holders(pattern);
  LayeredNetwork network(pattern);
  std::vector<std::vector<double>> wants(ranks, std::vector<double>(ranks, 0));  // [from][to]
  for (std::size_t to = 0; to < ranks; ++to) {
    for (const int other : needed(pattern.kind, static_cast<int>(to), pattern.ranks)) {
      const auto from = static_cast<std::size_t>(other);
      const std::string between =
          " from rank " + std::to_string(from) + " to rank " + std::to_string(to);
      if (!have[to].contains(other)) return "no data come" + between;
      if (from == to) continue;
      wants[from][to] = share;
      std::vector<double> supply(ranks, 0);
      std::vector<double> demand(ranks, 0);
      supply[from] = share;
      demand[to] = share;
      if (network.max_flow(supply, demand) < share * (1 - rounding)) {
        return "too little can come" + between;
      }
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> whole(ranks, 0);
    whole[rank] = pattern.ranks;
    std::vector<double> in(ranks);
    for (std::size_t from = 0; from < ranks; ++from) in[from] = wants[from][rank];
    const double all_in = std::accumulate(in.begin(), in.end(), 0.0);
    if (comes_in_parts(pattern.kind) && network.max_flow(in, whole) < all_in * (1 - rounding)) {
      return "too little can come in to rank " + std::to_string(rank);
    }
    const double all_out = std::accumulate(wants[rank].begin(), wants[rank].end(), 0.0);
    if (goes_out_in_parts(pattern.kind) &&
        network.max_flow(whole, wants[rank]) < all_out * (1 - rounding)) {
      return "too little can go out of rank " + std::to_string(rank);
    }
  }
  return {};
}

}  // namespace gradwire::test
