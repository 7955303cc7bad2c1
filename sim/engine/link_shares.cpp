#include "sim/engine/link_shares.hpp"

#include <algorithm>
#include <utility>

namespace gradwire {

namespace {

/// Of more links than this part of all, all are looked at, in order.
constexpr std::size_t scanned_part = 32;

/// Adds what the flows that stand there move, and tells of each link that it is met.
template <class Met>
void add_flows(const Pattern& pattern, const LinkSlots& slots, std::vector<double>& sums, Met met) {
  // Links are met in no order, and wait for memory unless asked for so many before.
  constexpr std::size_t ahead = 32;
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      for (std::size_t i = flow.path_begin; i < flow.path_begin + flow.path_size; ++i) {
        const std::size_t next = std::min(i + ahead, pattern.path_links.size() - 1);
        __builtin_prefetch(&sums[slots[pattern.path_links[next]]]);
        double& sum = sums[slots[pattern.path_links[i]]];
        if (sum == 0) met(pattern.path_links[i]);
        sum += flow.share;
      }
    }
  }
}

/// The same of a graph's flows.
template <class Met>
void add_flows(const FlowGraph& graph, const PhaseRange& phase, std::vector<double>& sums,
               Met met) {
  for (std::uint32_t flow = phase.flow_begin; flow < phase.flow_end; ++flow) {
    const double share = graph.kinds[graph.kind[flow]].share;
    graph.visit_links(flow, [&](std::uint32_t link) {
      const LinkId id = graph.link_id[link];
      if (id == FlowGraph::no_link) return;
      double& sum = sums[at(id)];
      if (sum == 0) met(id);
      sum += share;
    });
  }
}

/// Calls visit(link) for each link of a flow that stands for others, perhaps several times.
template <class Visit>
void visit_repeated(const Pattern& pattern, Visit visit) {
  for (const Phase& phase : pattern.phases) {
    for (const FlowRun& run : phase.runs) {
      if (run.machine != 1) continue;  // there is one like it for each other machine
      for (std::uint32_t f = run.begin; f < run.begin + run.size; ++f) {
        const PatternFlow& flow = phase.flows[f];
        for (std::uint32_t i = 0; i < flow.path_size; ++i) {
          visit(pattern.path_links[flow.path_begin + i]);
        }
      }
    }
  }
}

/// The links whose sum is above 0.
std::vector<LinkId> in_use(const LinkSlots& slots, const std::vector<double>& sums) {
  std::vector<LinkId> links;
  slots.visit([&](std::size_t link, std::size_t slot) {
    if (sums[slot] > 0) links.push_back(static_cast<LinkId>(link));
  });
  return links;
}

LinkId ids_of(std::span<const Pattern> patterns) {
  LinkId ids = 0;
  for (const Pattern& pattern : patterns) {
    if (pattern.path_links.empty()) continue;
    ids = std::max(ids, *std::ranges::max_element(pattern.path_links) + 1);
    if (pattern.is_folded()) {
      ids = std::max(ids, pattern.fold.first_link + pattern.fold.machines * pattern.fold.links);
    }
  }
  return ids;
}

}  // namespace

LinkShares::LinkShares(std::span<const Pattern> patterns) : ids_(at(ids_of(patterns))) {
  std::vector<double> sums;  // by number; between patterns all are 0
  std::vector<bool> repeated(ids_, false);
  std::vector<LinkId> links;
  for (const Pattern& pattern : patterns) {
    links.clear();
    const LinkSlots slots(pattern, ids_);
    sums.resize(std::max(sums.size(), slots.size()), 0);
    add_flows(pattern, slots, sums, [&](LinkId link) { links.push_back(link); });
    if (links.size() > ids_ / scanned_part) links = in_use(slots, sums);
    visit_repeated(pattern, [&](LinkId link) { repeated[at(link)] = true; });
    const auto others = std::stable_partition(links.begin(), links.end(), [&](LinkId link) {
      return static_cast<bool>(repeated[at(link)]);
    });
    parts_.push_back({.begin = shares_.size(),
                      .alone = shares_.size() + static_cast<std::size_t>(others - links.begin()),
                      .stride = pattern.fold.links,
                      .machines = at(std::max(1, pattern.fold.machines))});
    append(links, slots, sums);
    for (const LinkId link : links) repeated[at(link)] = false;
  }
  finish();
}

LinkShares::LinkShares(const FlowGraph& graph) {
  for (const LinkId id : graph.link_id) ids_ = std::max(ids_, at(id + 1));
  const LinkSlots slots({}, ids_);
  std::vector<double> sums(ids_, 0);
  std::vector<LinkId> links;
  auto phase = graph.phases.begin();
  for (int pattern = 0; pattern < graph.pattern_count; ++pattern) {
    links.clear();
    for (; phase != graph.phases.end() && phase->pattern == pattern; ++phase) {
      add_flows(graph, *phase, sums, [&](LinkId link) { links.push_back(link); });
    }
    if (links.size() > ids_ / scanned_part) links = in_use(slots, sums);
    parts_.push_back({.begin = shares_.size(), .alone = shares_.size()});
    append(links, slots, sums);
  }
  finish();
}

void LinkShares::append(const std::vector<LinkId>& links, const LinkSlots& slots,
                        std::vector<double>& sums) {
  for (const LinkId link : links) {
    shares_.push_back({link, value_of(std::exchange(sums[slots[link]], 0))});
  }
}

void LinkShares::finish() {
  parts_.push_back({.begin = shares_.size()});
  known_.clear();
  count_used();
}

std::uint32_t LinkShares::value_of(double share) {
  if (!shares_.empty() && values_[shares_.back().value] == share) return shares_.back().value;
  const auto next = static_cast<std::uint32_t>(values_.size());
  const auto [found, is_new] = known_.try_emplace(share, next);
  if (is_new) values_.push_back(share);
  return found->second;
}

void LinkShares::count_used() {
  std::vector<bool> met(ids_, false);
  for (std::size_t pattern = 0; pattern + 1 < parts_.size(); ++pattern) {
    visit(pattern, [&](std::size_t link, double /*share*/) {
      if (!met[link]) ++used_;
      met[link] = true;
    });
  }
}

void LinkShares::add_to(std::vector<double>& sums, std::size_t pattern, double times) const {
  visit(pattern, [&](std::size_t link, double share) { sums[link] += times * share; });
}

}  // namespace gradwire
