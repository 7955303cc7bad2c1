#include "sim/train/thinning.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/train/exchange_routes.hpp"

namespace gradwire {
namespace {

/// Messages over each link, by their shares, of all exchanges once.
using Load = std::vector<double>;

Load load_of(const std::vector<Exchange>& exchanges, const Job& job) {
  Load load(job.cluster.links().size(), 0);
  for (const Exchange& exchange : exchanges) {
    const Pattern pattern = lay_exchange(exchange, job.cluster, job.placement, job.servers);
    for (const Phase& phase : pattern.phases) {
      for (const PatternFlow& flow : phase.flows) {
        for (std::uint32_t i = 0; i < flow.path_size; ++i) {
          const LinkId link = pattern.path_links[flow.path_begin + i];
          load[static_cast<std::size_t>(link)] += flow.share;
        }
      }
    }
  }
  return load;
}

Placement chosen_places(const Job& job) {
  Placement places;
  const int all = static_cast<int>(job.placement.size());
  for (int i = 0; i < job.independent_workers_max; ++i) {
    places.push_back(
        job.placement[static_cast<std::size_t>(chosen_rank(i, job.independent_workers_max, all))]);
  }
  return places;
}

}  // namespace

Thinning::Thinning(const Job& job, const std::vector<Exchange>& exchanges)
    : all_(job),
      placement_(chosen_places(job)),
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
           .independent_workers_max = job.independent_workers_max} {
  assert(job.independent_workers_max >= 2 && placement_.size() < job.placement.size());
  const Load before = load_of(exchanges, all_);
  const Load after = load_of(job.make_strategy(view())->exchanges(), job_);
  capacity_.assign(before.size(), 1);
  for (std::size_t link = 0; link < before.size(); ++link) {
    if (after[link] == 0 || before[link] <= after[link]) continue;
    capacity_[link] = after[link] / before[link];
    cluster_.degrade(static_cast<LinkId>(link), capacity_[link]);
  }
}

int Thinning::rank(int index) const {
  return chosen_rank(index, static_cast<int>(placement_.size()),
                     static_cast<int>(all_.placement.size()));
}

double Thinning::ratio() const {
  return static_cast<double>(all_.placement.size()) / static_cast<double>(placement_.size());
}

JobView Thinning::view() const {
  JobView view = job_view(job_);
  view.stands_for = ratio();
  view.machine_of_all.reserve(all_.placement.size());
  for (const GpuRef& place : all_.placement) view.machine_of_all.push_back(place.node);
  return view;
}

std::vector<MemberGroup> Thinning::chosen(const std::vector<MemberGroup>& members) const {
  assert(members.size() == all_.placement.size());
  std::vector<MemberGroup> chosen;
  chosen.reserve(placement_.size());
  for (int i = 0; i < static_cast<int>(placement_.size()); ++i) {
    chosen.push_back(members[static_cast<std::size_t>(rank(i))]);
  }
  return chosen;
}

RunResult Thinning::of_all(RunResult result) const {
  const auto all = static_cast<double>(all_.placement.size());
  const auto simulated = static_cast<double>(placement_.size());
  result.world_size = static_cast<int>(all_.placement.size());
  if (result.staleness) *result.staleness *= (all - 1) / (simulated - 1);
  for (auto& use : result.links) {
    const auto ids = all_.cluster.find_links(use.name);
    if (ids.size() == 1) use.bytes /= capacity_[static_cast<std::size_t>(ids.front())];
  }
  result.fidelity_why = fmt::format(
      "every rank goes its own pace; thinning: {} evenly chosen stand for {}, {:.4g} each",
      placement_.size(), all_.placement.size(), ratio());
  return result;
}

}  // namespace gradwire
