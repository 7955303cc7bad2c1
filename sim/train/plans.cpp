#include "sim/train/plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <variant>

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
std::vector<Ranks> groups_in(const CollectiveUse& use, const std::vector<GroupFamily>& made) {
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

/// Bytes that each rank sends to other machines or GPUs / size.
std::vector<Plans::RankShare> shares_of(const Exchange& exchange, const Job& job) {
  const auto machine = [&](const Endpoint& place) {
    const auto index = static_cast<std::size_t>(place.index);
    return place.place == Endpoint::Place::server ? job.servers[index] : job.placement[index].node;
  };
  std::vector<Plans::RankShare> sent;  // one a message, mostly by rank
  for (const auto& phase : exchange.phases) {
    for (const Message& message : phase) {
      const bool copy_only =
          machine(message.from) == machine(message.to) &&
          (message.from.place != Endpoint::Place::gpu || message.to.place != Endpoint::Place::gpu);
      if (message.from.place != Endpoint::Place::server && !copy_only) {
        sent.emplace_back(message.from.index, message.share);
      }
    }
  }
  std::ranges::stable_sort(sent, {}, &Plans::RankShare::first);
  std::vector<Plans::RankShare> shares;
  for (const auto& [rank, share] : sent) {
    if (shares.empty() || shares.back().first != rank) shares.emplace_back(rank, 0);
    shares.back().second += share;
  }
  return shares;
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

/// Ranks of a class in the order in which they have counterparts.
Ranks ranks_of(const RankClass& rank_class) {
  Ranks ranks;
  for (const ProcessGroup& group : rank_class.data_parallel) {
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  return ranks;
}

/// The families of a class of ranks: those of each data-parallel group's placement, the job's own
/// as far as they lie in the class, and for each class that of the pairs with its ranks.
std::vector<GroupFamily> families_of(const Job& job, const RankClass& own) {
  std::vector<GroupFamily> made(static_cast<std::size_t>(families::own));
  for (const ProcessGroup& group : own.data_parallel) {
    auto of_group = placement_families(placement_of(group.ranks, job.placement));
    for (std::size_t f = 0; f < of_group.size(); ++f) {
      for (ProcessGroup& part : of_group[f].groups) {
        for (int& rank : part.ranks) rank = group.ranks[static_cast<std::size_t>(rank)];
        made[f].groups.push_back(std::move(part));
      }
    }
  }
  const Ranks ranks = ranks_of(own);
  const std::set<int> in_class(ranks.begin(), ranks.end());
  for (const GroupFamily& family : job.families) {
    GroupFamily& mine = made.emplace_back(GroupFamily{family.name, {}});
    std::ranges::copy_if(family.groups, std::back_inserter(mine.groups), [&](const auto& group) {
      return std::ranges::all_of(group.ranks, [&](int rank) { return in_class.contains(rank); });
    });
  }
  for (const RankClass& other : job.rank_classes) {
    const Ranks counterparts = ranks_of(other);
    GroupFamily& pairs = made.emplace_back(GroupFamily{other.name, {}});
    if (&other == &own) continue;
    for (std::size_t i = 0; i < std::min(ranks.size(), counterparts.size()); ++i) {
      pairs.groups.push_back({{}, {ranks[i], counterparts[i]}});
    }
  }
  return made;
}

/// What a program does beside computing.
std::vector<CollectiveUse> uses_of(const Job& job, const Program& program) {
  std::vector<CollectiveUse> uses;
  for (const ProgramStep& step : program) {
    if (const auto* collective = std::get_if<GroupCollective>(&step)) {
      uses.push_back({collective->kind, collective->family});
    } else if (const auto* send = std::get_if<Send>(&step)) {
      uses.push_back(Plans::send_to(job, send->to));
    }
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

/// The same exchange of all groups at once. Its ranks are counted in a group.
Exchange of_groups(const Exchange& exchange, const RankClass& rank_class) {
  Exchange all = exchange;
  for (auto& phase : all.phases) {
    std::vector<Message> messages;
    for (const ProcessGroup& group : rank_class.data_parallel) {
      for (Message message : phase) {
        for (Endpoint* end : {&message.from, &message.to}) {
          if (end->place == Endpoint::Place::server) continue;
          end->index = group.ranks[static_cast<std::size_t>(end->index)];
        }
        messages.push_back(message);
      }
    }
    phase = std::move(messages);
  }
  return all;
}

/// The groups that a strategy's collectives may name.
std::vector<GroupFamily> families_for(const Job& job, const RankClass* own,
                                      const Strategy& strategy) {
  const std::vector<GroupFamily> asked = strategy.families();
  if (own != nullptr) {
    if (asked.empty()) return families_of(job, *own);
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        "this strategy makes groups of its own, of a model that ranks share the layers of; "
        "expected replicas");
  }
  assert(asked.empty() || job.families.empty());
  std::vector<GroupFamily> made = placement_families(job.placement);
  made.insert(made.end(), job.families.begin(), job.families.end());
  made.insert(made.end(), asked.begin(), asked.end());
  return made;
}

/// The groups of ranks that do a collective at once. Where all do it as one, the others are not
/// made: they have a name for each machine.
class GroupsOf {
 public:
  GroupsOf(const Job& job, const RankClass* own, const Strategy& strategy)
      : job_(job), own_(own), strategy_(strategy) {
    if (own != nullptr) made_ = families_for(job, own, strategy);
  }

  std::vector<Ranks> operator()(const CollectiveUse& use) {
    if (own_ == nullptr && use.communicator == families::all) {
      Ranks all(job_.placement.size());
      std::iota(all.begin(), all.end(), 0);
      if (all.size() < 2) return {};
      return {std::move(all)};
    }
    if (!made_) made_ = families_for(job_, own_, strategy_);
    return groups_in(use, *made_);
  }

 private:
  const Job& job_;
  const RankClass* own_;
  const Strategy& strategy_;
  std::optional<std::vector<GroupFamily>> made_;
};

}  // namespace

Plans::Plans(const Job& job, const std::vector<const Strategy*>& strategies,
             const std::vector<std::vector<bool>>& laid, bool fold)
    : job_(job), fold_(fold) {
  assert(strategies.size() == instance_count(job));
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const RankClass* own = job.rank_classes.empty() ? nullptr : &job.rank_classes[i];
    GroupsOf groups_of(job, own, *strategies[i]);
    if (own != nullptr) {
      for (const CollectiveUse& use : uses_of(job, own->program)) add({i, use}, groups_of(use));
    }
    for (const CollectiveUse& use : strategies[i]->collectives()) add({i, use}, groups_of(use));
  }
  exchanges_ = static_cast<PatternId>(patterns_.size());
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    std::vector<PatternId>& ids = exchange_ids_.emplace_back();
    strategies[i]->visit_exchanges([&](const Exchange& exchange) {
      const bool used = laid.empty() || laid[i].empty() || laid[i][ids.size()];
      ids.push_back(used ? static_cast<PatternId>(patterns_.size()) : not_laid);
      if (!used) return;
      add_exchange(job.rank_classes.empty() ? exchange : of_groups(exchange, job.rank_classes[i]));
    });
  }
}

void Plans::add(const Use& use, const std::vector<Ranks>& groups) {
  if (groups.empty() || groups_.contains(use)) return;
  const CollectiveKind kind = use.second.kind;
  // Where machines differ, the largest group ends last.
  const Ranks& largest = *std::ranges::max_element(groups, {}, &Ranks::size);
  Group& planned = groups_[use];
  planned.first = static_cast<PatternId>(patterns_.size());
  const bool of_all = job_.rank_classes.empty() && use.second.communicator == families::all;
  const Placement members = placement_of(largest, job_.placement);
  auto candidates =
      fold_ && of_all ? job_.library.plan_folded(kind, members) : job_.library.plan(kind, members);
  planned.size = candidates.size();
  if (of_all) {
    std::ranges::move(candidates, std::back_inserter(patterns_));
    return;
  }
  planned.candidates = std::move(candidates);
  std::vector<int> channels(planned.candidates.size(), 0);
  for (const Pattern& candidate : planned.candidates) {
    Pattern together = candidate;
    together.ranks = static_cast<int>(job_.placement.size());  // flows name the job's ranks
    together.phases.clear();
    together.path_links.clear();
    patterns_.push_back(std::move(together));
  }
  for (const Ranks& ranks : groups) {
    const auto own = job_.library.plan(kind, placement_of(ranks, job_.placement));
    for (std::size_t c = 0; c < planned.candidates.size(); ++c) {
      if (own.size() <= c || own[c].algorithm != planned.candidates[c].algorithm) {
        throw UnsupportedConfiguration(
            UnsupportedConfiguration::Key::strategy,
            fmt::format("groups of {} and of {} ranks cannot run {} alike; this "
                        "strategy has all of them do it at once",
                        largest.size(), ranks.size(), name_of(kind)));
      }
      join(patterns_[static_cast<std::size_t>(planned.first) + c], own[c], ranks, channels[c]);
    }
  }
  for (std::size_t c = 0; c < planned.candidates.size(); ++c) {
    patterns_[static_cast<std::size_t>(planned.first) + c].seal();
  }
}

void Plans::add_exchange(const Exchange& exchange) {
  patterns_.push_back(lay_exchange(exchange, job_.cluster, job_.placement, job_.servers));
  const auto [cost, is_new] = exchange_cost_.try_emplace(exchange.startup);
  if (is_new) {
    cost->second.startup = exchange.startup;
    cost->second.source = "model";
  }
  exchange_costs_.push_back(&cost->second);
  std::vector<RankShare> shares = shares_of(exchange, job_);
  const bool any = !shares.empty();
  if (any && shares != exchange_shares_.back()) exchange_shares_.push_back(std::move(shares));
  shares_of_.push_back(any ? static_cast<std::uint32_t>(exchange_shares_.size() - 1) : 0);
}

void Plans::was_read(PatternId id) {
  if (id < exchanges_) return;
  patterns_[static_cast<std::size_t>(id)] = {};
  if (static_cast<std::size_t>(id) + 1 < patterns_.size()) return;
  patterns_.resize(static_cast<std::size_t>(exchanges_));
  patterns_.shrink_to_fit();
}

CollectiveUse Plans::send_to(const Job& job, int rank_class) {
  // NCCL sends and receives as it broadcasts in a group of two: one hop.
  const auto family = static_cast<int>(families::own) + static_cast<int>(job.families.size());
  return {CollectiveKind::broadcast, FamilyId{family + rank_class}};
}

std::vector<Plans::RankShare> Plans::shares(PatternId id) const {
  if (id >= exchanges_) {
    return exchange_shares_[shares_of_[static_cast<std::size_t>(id - exchanges_)]];
  }
  const Pattern& moved = pattern(id);
  // By rank: flows come in no order of theirs.
  std::vector<double> sent(static_cast<std::size_t>(moved.ranks), 0);
  for (const Phase& phase : moved.phases) {
    phase.visit_flows([&](std::size_t index, int machine) {
      const PatternFlow& flow = phase.flows[index];
      const int rank = flow.source + machine * moved.fold.ranks;
      sent[static_cast<std::size_t>(rank)] += flow.share;
    });
  }
  std::vector<RankShare> senders;
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    if (sent[rank] > 0) senders.emplace_back(static_cast<int>(rank), sent[rank]);
  }
  return senders;
}

const Plans::Choice* Plans::choose(std::size_t instance, CollectiveUse collective, Bytes size,
                                   bool& is_new) {
  is_new = false;
  const Use use{instance, collective};
  const auto planned = groups_.find(use);
  if (planned == groups_.end()) return nullptr;
  const auto [found, added] = choices_.try_emplace(std::pair{use, size.count()});
  is_new = added;
  if (added) {
    auto [pattern, cost] = job_.library.choose(candidates_of(planned->second), size);
    found->second = {planned->second.first + static_cast<PatternId>(pattern), std::move(cost)};
  }
  return &found->second;
}

}  // namespace gradwire
