#include "sim/train/plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/process_groups.hpp"
#include "sim/core/refusal.hpp"
#include "sim/train/exchange_routes.hpp"

namespace gradwire {
namespace {

using Ranks = std::vector<int>;

/// Appends a group's parts, each with its root first.
void add_parts(const Ranks& group, const CollectiveUse& use, std::vector<Ranks>& parts) {
  const int size = ranks_of_part(static_cast<int>(group.size()), use.part);
  for (auto first = group.begin(); first != group.end(); first += size) {
    Ranks& part = parts.emplace_back(first, first + size);
    std::rotate(part.begin(), part.begin() + use.root % size, part.end());
  }
}

/// The groups of ranks that take part, those with at least two ranks.
std::vector<Ranks> rank_groups(const CollectiveUse& use, const std::vector<GroupFamily>& made) {
  std::vector<Ranks> groups;
  for (const ProcessGroup& group : made[static_cast<std::size_t>(use.communicator)].groups) {
    if (use.communicator == families::node) {
      add_parts(group.ranks, use, groups);
    } else {
      groups.push_back(group.ranks);
    }
  }
  std::erase_if(groups, [](const Ranks& group) { return group.size() < 2; });
  std::sort(groups.begin(), groups.end());
  return groups;
}

Placement places(const Ranks& ranks, const Placement& placement) {
  Placement group;
  for (const int rank : ranks) group.push_back(placement[static_cast<std::size_t>(rank)]);
  return group;
}

/// Bytes that each rank sends to other machines or GPUs / size.
std::map<int, double> shares_of(const Exchange& exchange, const Job& job) {
  const auto machine = [&](const Endpoint& place) {
    const auto index = static_cast<std::size_t>(place.index);
    return place.place == Endpoint::Place::server ? job.servers[index] : job.placement[index].node;
  };
  std::map<int, double> sent;
  for (const auto& phase : exchange.phases) {
    for (const Message& message : phase) {
      const bool copy_only =
          machine(message.from) == machine(message.to) &&
          (message.from.place != Endpoint::Place::gpu || message.to.place != Endpoint::Place::gpu);
      if (message.from.place != Endpoint::Place::server && !copy_only) {
        sent[message.from.index] += message.share;
      }
    }
  }
  return sent;
}

/// Adds the flows of another group that does the same at the same time.
void join(Pattern& together, const Pattern& other, const Ranks& ranks, int& groups) {
  const auto links = static_cast<std::uint32_t>(together.path_links.size());
  together.path_links.insert(together.path_links.end(), other.path_links.begin(),
                             other.path_links.end());
  int last_group = groups;
  together.phases.resize(std::max(together.phases.size(), other.phases.size()));
  for (std::size_t p = 0; p < other.phases.size(); ++p) {
    Phase& phase = together.phases[p];
    phase.steps = other.phases[p].steps;
    phase.coupling = other.phases[p].coupling;
    for (PatternFlow flow : other.phases[p].flows) {
      flow.source = ranks[static_cast<std::size_t>(flow.source)];
      flow.destination = ranks[static_cast<std::size_t>(flow.destination)];
      flow.group += groups;
      last_group = std::max(last_group, flow.group + 1);
      flow.path_begin += links;
      phase.flows.push_back(flow);
    }
  }
  groups = last_group;
}

}  // namespace

Plans::Plans(const Job& job, const Strategy& strategy) : library_(job.library) {
  std::vector<GroupFamily> made = placement_families(job.placement);
  made.insert(made.end(), job.families.begin(), job.families.end());
  for (const CollectiveUse use : strategy.collectives()) {
    const std::vector<Ranks> groups = rank_groups(use, made);
    if (groups.empty()) continue;
    // Where machines differ, the largest group ends last.
    const Ranks& largest = *std::ranges::max_element(groups, {}, &Ranks::size);
    Group& planned = groups_[use];
    planned.first = static_cast<PatternId>(patterns_.size());
    planned.candidates = library_.plan(use.kind, places(largest, job.placement));
    if (use.communicator == families::all) {
      patterns_.insert(patterns_.end(), planned.candidates.begin(), planned.candidates.end());
      continue;
    }
    std::vector<int> channels(planned.candidates.size(), 0);
    for (const Pattern& candidate : planned.candidates) {
      Pattern together = candidate;
      together.ranks = static_cast<int>(job.placement.size());  // flows name the job's ranks
      together.phases.clear();
      together.path_links.clear();
      patterns_.push_back(std::move(together));
    }
    for (const Ranks& ranks : groups) {
      const auto own = library_.plan(use.kind, places(ranks, job.placement));
      for (std::size_t c = 0; c < planned.candidates.size(); ++c) {
        if (own.size() <= c || own[c].algorithm != planned.candidates[c].algorithm) {
          throw RefusedChoice(RefusedChoice::Key::strategy,
                              fmt::format("groups of {} and of {} ranks cannot run {} alike; this "
                                          "strategy has all of them do it at once",
                                          largest.size(), ranks.size(), name_of(use.kind)));
        }
        join(patterns_[static_cast<std::size_t>(planned.first) + c], own[c], ranks, channels[c]);
      }
    }
    for (std::size_t c = 0; c < planned.candidates.size(); ++c) {
      Pattern& together = patterns_[static_cast<std::size_t>(planned.first) + c];
      together.seal();
    }
  }
  exchanges_ = static_cast<PatternId>(patterns_.size());
  for (const Exchange& exchange : strategy.exchanges()) {
    patterns_.push_back(lay_exchange(exchange, job.cluster, job.placement, job.servers));
    CollectiveCost cost;
    cost.startup = exchange.startup;
    cost.algorithm = exchange.name;
    cost.source = "model";
    exchange_costs_.push_back(std::move(cost));
    exchange_shares_.push_back(shares_of(exchange, job));
  }
}

std::map<int, double> Plans::shares(PatternId id) const {
  if (id >= exchanges_) return exchange_shares_[static_cast<std::size_t>(id - exchanges_)];
  std::vector<double> sent;  // by rank: flows come in no order of theirs
  for (const Phase& phase : pattern(id).phases) {
    for (const PatternFlow& flow : phase.flows) {
      const auto sender = static_cast<std::size_t>(flow.source);
      if (sender >= sent.size()) sent.resize(sender + 1, 0);
      sent[sender] += flow.share;
    }
  }
  std::map<int, double> senders;
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    if (sent[rank] > 0) senders.emplace_hint(senders.end(), static_cast<int>(rank), sent[rank]);
  }
  return senders;
}

const Plans::Choice* Plans::choose(CollectiveUse use, Bytes size, bool& is_new) {
  is_new = false;
  const auto planned = groups_.find(use);
  if (planned == groups_.end()) return nullptr;
  const auto [found, added] = choices_.try_emplace(std::pair{use, size.count()});
  is_new = added;
  if (added) {
    auto [pattern, cost] = library_.choose(planned->second.candidates, size);
    found->second = {planned->second.first + static_cast<PatternId>(pattern), std::move(cost)};
  }
  return &found->second;
}

}  // namespace gradwire
