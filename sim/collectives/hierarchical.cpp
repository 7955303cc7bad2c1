#include "sim/collectives/planners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sim/collectives/machines.hpp"
#include "sim/collectives/rings.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"

namespace gradwire {
namespace {

/// Appends phases inside and across machines to one pattern.
class Builder {
 public:
  Builder(CollectiveKind kind, const Cluster& cluster, const Placement& members)
      : cluster_(cluster), members_(members), machines_(machines_of(cluster, members)) {
    pattern_.kind = kind;
    pattern_.algorithm = "hierarchical";
    pattern_.ranks = static_cast<int>(members.size());
    pattern_.machines = static_cast<int>(machines_.size());
    for (const Machine& machine : machines_) {
      if (machine.ranks.size() == machines_.front().ranks.size()) continue;
      throw SimulationError(fmt::format(
          "hierarchical needs equally many ranks on each machine, but node{} has {} and node{} {}",
          machines_.front().node, machines_.front().ranks.size(), machine.node,
          machine.ranks.size()));
    }
    if (members.size() < 2) return;
    find_rings();
    pattern_.channels = std::max(1, static_cast<int>(fewest_rings_));
  }

  /// Every rank passes on its part of `held` (share of the size that a rank has in the end),
  /// around its machine's rings. @param turns  of g-1 steps each.
  void rings_inside(int turns, double held) {
    const std::size_t places = this->places();
    if (places < 2) return;
    const double passed = turns * held * static_cast<double>(places - 1);
    start_phase(turns * static_cast<int>(places - 1), Coupling::ring, members_.size());
    for (std::size_t machine = 0; machine < machines_.size(); ++machine) {
      for (std::size_t channel = 0; channel < fewest_rings_; ++channel) {
        for (std::size_t hop = 0; hop < places; ++hop) {
          append_inside(machine, channel, hop, passed / static_cast<double>(places));
        }
      }
    }
  }

  /// The ranks of each place pass on 1/m of `held`, machine after machine.
  void rings_across(int turns, double held) {
    const auto count = machines_.size();
    if (count < 2) return;
    const double passed = turns * held * static_cast<double>(count - 1);
    start_phase(turns * static_cast<int>(count - 1), Coupling::ring, members_.size());
    for (std::size_t place = 0; place < places(); ++place) {
      for (std::size_t machine = 0; machine < count; ++machine) {
        append_across(machine, place, passed / static_cast<double>(count));
      }
    }
  }

  /// From rank 0's machine to the others, then inside each.
  void chains() {
    const std::vector<int>& first = machines_.front().ranks;
    const auto root =
        static_cast<std::size_t>(std::find(first.begin(), first.end(), 0) - first.begin());
    if (machines_.size() > 1) {
      start_phase(chain_pieces, Coupling::pipeline, machines_.size());
      for (std::size_t machine = 0; machine + 1 < machines_.size(); ++machine) {
        append_across(machine, root, 1);
      }
    }
    if (places() < 2) return;
    start_phase(chain_pieces, Coupling::pipeline, members_.size());
    for (std::size_t machine = 0; machine < machines_.size(); ++machine) {
      for (std::size_t channel = 0; channel < fewest_rings_; ++channel) {
        const std::vector<int>& order = (*rings_[machine])[channel].order;
        const auto begin = static_cast<std::size_t>(
            std::find(order.begin(), order.end(), static_cast<int>(root)) - order.begin());
        for (std::size_t hop = 0; hop + 1 < places(); ++hop) {
          append_inside(machine, channel, (begin + hop) % places(), 1);
        }
      }
    }
  }

  [[nodiscard]] Pattern take() {
    pattern_.seal();
    return std::move(pattern_);
  }

  [[nodiscard]] std::size_t places() const { return machines_.front().ranks.size(); }

 private:
  /// Machines of one kind have the same rings: each kind is searched once.
  void find_rings() {
    for (const Machine& machine : machines_) {
      const auto [entry, is_new] = known_.try_emplace({&cluster_.node(machine.node), machine.gpus});
      if (is_new) {
        Placement inside;
        for (const int gpu : machine.gpus) inside.push_back({machine.node, gpu});
        entry->second = plan_rings(cluster_, inside);
      }
      rings_.push_back(&entry->second);
    }
    fewest_rings_ = (*std::min_element(rings_.begin(), rings_.end(), [](auto* a, auto* b) {
                      return a->size() < b->size();
                    }))->size();
  }

  void start_phase(int steps, Coupling coupling, std::size_t flows) {
    pattern_.phases.push_back({.flows = {}, .steps = steps, .coupling = coupling});
    pattern_.phases.back().flows.reserve(flows);
  }

  /// The `hop`-th of a machine's ring, which carries its channel's part of `share`.
  void append_inside(std::size_t machine, std::size_t channel, std::size_t hop, double share) {
    const std::vector<int>& order = (*rings_[machine])[channel].order;
    const std::vector<int>& ranks = machines_[machine].ranks;
    append_message(cluster_, members_,
                   {.source = ranks[static_cast<std::size_t>(order[hop])],
                    .destination = ranks[static_cast<std::size_t>(order[(hop + 1) % order.size()])],
                    .share = share / static_cast<double>(fewest_rings_)},
                   static_cast<int>(machine * fewest_rings_ + channel), pattern_);
  }

  /// From one machine to the next one, between the ranks of a place.
  void append_across(std::size_t machine, std::size_t place, double share) {
    append_message(cluster_, members_,
                   {.source = machines_[machine].ranks[place],
                    .destination = machines_[(machine + 1) % machines_.size()].ranks[place],
                    .share = share},
                   static_cast<int>(place), pattern_);
  }

  const Cluster& cluster_;
  const Placement& members_;
  std::vector<Machine> machines_;
  std::map<std::pair<const NodeGraph*, std::vector<int>>, std::vector<RankRing>>
      known_;  ///< of each kind of machine and its GPUs; looked up, never walked
  std::vector<const std::vector<RankRing>*> rings_;  ///< of each machine, by place
  std::size_t fewest_rings_ = 0;
  Pattern pattern_;
};

}  // namespace

Pattern plan_hierarchical_all_reduce(const Cluster& cluster, const Placement& members) {
  Builder builder(CollectiveKind::all_reduce, cluster, members);
  builder.rings_inside(1, 1);
  builder.rings_across(2, 1.0 / static_cast<double>(builder.places()));
  builder.rings_inside(1, 1);
  return builder.take();
}

Pattern plan_hierarchical_reduce_scatter(const Cluster& cluster, const Placement& members) {
  Builder builder(CollectiveKind::reduce_scatter, cluster, members);
  builder.rings_inside(1, 1);
  builder.rings_across(1, 1.0 / static_cast<double>(builder.places()));
  return builder.take();
}

Pattern plan_hierarchical_all_gather(const Cluster& cluster, const Placement& members) {
  Builder builder(CollectiveKind::all_gather, cluster, members);
  builder.rings_across(1, 1.0 / static_cast<double>(builder.places()));
  builder.rings_inside(1, 1);
  return builder.take();
}

Pattern plan_hierarchical_broadcast(const Cluster& cluster, const Placement& members) {
  Builder builder(CollectiveKind::broadcast, cluster, members);
  if (members.size() > 1) builder.chains();
  return builder.take();
}

}  // namespace gradwire
