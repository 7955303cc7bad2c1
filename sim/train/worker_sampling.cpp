#include "sim/train/worker_sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <map>

#include "sim/train/exchange_routes.hpp"

namespace gradwire {
namespace {

/// What each link carries.
using Load = std::vector<double>;

/// What each worker sends to servers, and what it receives, is 1, spread by Exchange::load over the
/// exchanges that it may use for that: a worker that asks one of many asks as often where there are
/// fewer.
Load load_of(const Strategy& strategy, const Job& job) {
  constexpr std::size_t places = 3;
  // A worker's exchanges from one kind of place to another.
  const auto way_of = [](const Exchange& exchange) {
    const Message& first = exchange.phases.front().front();
    return (static_cast<std::size_t>(worker_of(exchange)) * places +
            static_cast<std::size_t>(first.from.place)) *
               places +
           static_cast<std::size_t>(first.to.place);
  };
  std::vector<double> among(job.placement.size() * places * places, 0);
  strategy.visit_exchanges([&](const Exchange& exchange) {
    if (exchange.load > 0 && takes_links(exchange, job.cluster, job.placement, job.servers)) {
      among[way_of(exchange)] += exchange.load;
    }
  });
  Load load(job.cluster.links().size(), 0);
  std::vector<LinkId> path;
  strategy.visit_exchanges([&](const Exchange& exchange) {
    if (exchange.load == 0) return;
    const double part = exchange.load / among[way_of(exchange)];
    visit_links(
        exchange, job.cluster, job.placement, job.servers, path,
        [&](LinkId link, double share) { load[static_cast<std::size_t>(link)] += share * part; });
  });
  return load;
}

bool goes_to_servers(const Strategy& strategy) {
  bool any = false;
  strategy.visit_exchanges([&any](const Exchange& exchange) {
    any = any || exchange.phases.front().front().to.place == Endpoint::Place::server;
  });
  return any;
}

/// Ranks of whole machines, evenly chosen, those with stragglers and those without. Where not even
/// two fit, and beside servers, ranks: what a machine's ports carry for a server of its own slows
/// its workers, so that each machine counts.
std::vector<int> chosen_ranks(const Job& job, const Strategy& strategy) {
  std::map<int, std::vector<int>> on_machine;
  for (int rank = 0; rank < static_cast<int>(job.placement.size()); ++rank) {
    on_machine[job.placement[static_cast<std::size_t>(rank)].node].push_back(rank);
  }
  std::size_t largest = 0;
  std::vector<std::vector<int>> units;  // whose ranks are chosen together
  for (const auto& [machine, ranks] : on_machine) largest = std::max(largest, ranks.size());
  const bool together =
      2 * largest <= static_cast<std::size_t>(job.sampled_workers) && !goes_to_servers(strategy);
  for (const auto& [machine, ranks] : on_machine) {
    if (together) {
      units.push_back(ranks);
    } else {
      for (const int rank : ranks) units.push_back({rank});
    }
  }
  // Stragglers first: in proportion to their number, and never none of them.
  const auto slower =
      straggler_factors(static_cast<int>(job.placement.size()), job.stragglers, job.run.seed);
  const auto slowest_of = [&slower](const std::vector<int>& ranks) {
    double slowest = 0;
    for (const int rank : ranks)
      slowest = std::max(slowest, slower[static_cast<std::size_t>(rank)]);
    return slowest;
  };
  std::ranges::stable_sort(units, std::greater{}, slowest_of);
  const int most = job.sampled_workers / static_cast<int>(together ? largest : 1);
  std::vector<int> chosen;
  for (int i = 0; i < most; ++i) {
    const int unit = chosen_rank(i, most, static_cast<int>(units.size()));
    const auto& ranks = units[static_cast<std::size_t>(unit)];
    chosen.insert(chosen.end(), ranks.begin(), ranks.end());
  }
  std::ranges::sort(chosen);
  return chosen;
}

Placement places_of(const std::vector<int>& ranks, const Placement& placement) {
  Placement places;
  for (const int rank : ranks) places.push_back(placement[static_cast<std::size_t>(rank)]);
  return places;
}

}  // namespace

WorkerSampling::WorkerSampling(const Job& job, const Strategy& strategy)
    : all_(job),
      ranks_(chosen_ranks(job, strategy)),
      placement_(places_of(ranks_, job.placement)),
      cluster_(job.cluster),
      job_{.profile = job.profile,
           .gpu = job.gpu,
           .cluster = cluster_,
           .placement = placement_,
           .make_strategy = job.make_strategy,
           .library = job.library,
           .jitter = job.jitter,
           .stragglers = job.stragglers,
           .run = job.run,
           .engine = job.engine,
           .micro_batches = job.micro_batches,
           .record_spans = job.record_spans,
           .classes = job.classes,
           .servers = job.servers,
           .independent_workers_max = job.independent_workers_max,
           .sampled_workers = job.sampled_workers,
           .doubts = job.doubts} {
  assert(placement_.size() >= 2 && placement_.size() < job.placement.size());
  const Load before = load_of(strategy, all_);
  const Load after = load_of(*job.make_strategy(view()), job_);
  capacity_.assign(before.size(), 1);
  for (std::size_t link = 0; link < before.size(); ++link) {
    if (after[link] == 0 || before[link] <= after[link]) continue;
    capacity_[link] = after[link] / before[link];
    cluster_.degrade(static_cast<LinkId>(link), capacity_[link]);
  }
}

double WorkerSampling::ratio() const {
  return static_cast<double>(all_.placement.size()) / static_cast<double>(placement_.size());
}

JobView WorkerSampling::view() const {
  JobView view = job_view(job_);
  view.stands_for = ratio();
  view.machine_of_all.reserve(all_.placement.size());
  for (const GpuRef& place : all_.placement) view.machine_of_all.push_back(place.node);
  return view;
}

std::vector<MemberGroup> WorkerSampling::chosen(const std::vector<MemberGroup>& members) const {
  assert(members.size() == all_.placement.size());
  std::vector<MemberGroup> chosen;
  chosen.reserve(placement_.size());
  for (const int rank : ranks_) chosen.push_back(members[static_cast<std::size_t>(rank)]);
  return chosen;
}

RunResult WorkerSampling::of_all(RunResult result) const {
  const auto all = static_cast<double>(all_.placement.size());
  const auto simulated = static_cast<double>(placement_.size());
  result.world_size = static_cast<int>(all_.placement.size());
  if (result.staleness) *result.staleness *= (all - 1) / (simulated - 1);
  for (auto& use : result.links) {
    const auto ids = all_.cluster.find_links(use.name);
    if (ids.size() == 1) use.bytes /= capacity_[static_cast<std::size_t>(ids.front())];
  }
  result.fidelity_why = fmt::format(
      "every rank is asynchronous; worker sampling: {} evenly chosen stand for {}, {:.4g} each",
      placement_.size(), all_.placement.size(), ratio());
  return result;
}

}  // namespace gradwire
