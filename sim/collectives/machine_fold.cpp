#include "sim/collectives/machine_fold.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/collectives/machines.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/index.hpp"

namespace gradwire {
namespace {

std::span<const LinkId> path_of(const Pattern& pattern, const PatternFlow& flow) {
  return std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size);
}

/// Which flows of a phase stand for those of other machines.
std::vector<bool> repeated_of(const Phase& phase) {
  std::vector<bool> repeated(phase.flows.size(), false);
  for (const FlowRun& run : phase.runs) {
    if (run.machine > 0) std::fill_n(repeated.begin() + run.begin, run.size, true);
  }
  return repeated;
}

/// Whether a predicate holds for each link, counted from the first machine's first one, of the
/// flows that stand for others, or of those that do not.
template <class Holds>
bool all_links(const Pattern& pattern, bool repeated, Holds holds) {
  return std::ranges::all_of(pattern.phases, [&](const Phase& phase) {
    const std::vector<bool> is_repeated = repeated_of(phase);
    for (std::size_t i = 0; i < phase.flows.size(); ++i) {
      if (is_repeated[i] != repeated) continue;
      const auto path = path_of(pattern, phase.flows[i]);
      const auto holds_here = [&](LinkId link) { return holds(link - pattern.fold.first_link); };
      if (!std::ranges::all_of(path, holds_here)) return false;
    }
    return true;
  });
}

}  // namespace

std::optional<MachineFold> fold_of(const Cluster& cluster, const Placement& members) {
  const std::vector<Machine> machines = machines_of(cluster, members);
  if (machines.size() < 2) return std::nullopt;
  const Machine& first = machines.front();
  const NodeGraph& node = cluster.node(first.node);
  const MachineFold fold{.machines = static_cast<int>(machines.size()),
                         .ranks = static_cast<int>(first.ranks.size()),
                         .links = static_cast<LinkId>(node.resources().size()),
                         .first_link = cluster.first_link(first.node)};
  const ClusterLinks links = cluster.links();
  for (int m = 0; m < fold.machines; ++m) {
    const Machine& machine = machines[at(m)];
    if (machine.node != first.node + m || &cluster.node(machine.node) != &node ||
        machine.gpus != first.gpus) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < machine.ranks.size(); ++i) {
      if (machine.ranks[i] != first.ranks[i] + m * fold.ranks) return std::nullopt;
    }
    for (LinkId link = fold.first_link; link < fold.first_link + fold.links; ++link) {
      if (links.type_of(at(link)) != links.type_of(at(link + m * fold.links))) return std::nullopt;
    }
  }
  const bool in_order = std::ranges::max(first.ranks) < fold.ranks;
  return in_order ? std::optional(fold) : std::nullopt;
}

bool folds_exactly(Pattern& pattern) {
  MachineFold& fold = pattern.fold;
  std::vector<bool> taken(at(fold.links), false);
  const bool inside = all_links(pattern, /*repeated=*/true, [&](LinkId own) {
    if (own < 0 || own >= fold.links) return false;
    taken[at(own)] = true;
    return true;
  });
  if (!inside) return false;
  std::vector<bool> passed(at(fold.links), false);
  const bool apart = all_links(pattern, /*repeated=*/false, [&](LinkId own) {
    const bool of_machine = own >= 0 && own < fold.machines * fold.links;
    if (!of_machine) return true;
    const std::size_t link = at(own % fold.links);
    if (own >= fold.links) passed[link] = true;
    return !taken[link];
  });
  fold.passed.clear();
  for (LinkId link = 0; link < fold.links; ++link) {
    if (passed[at(link)]) fold.passed.push_back(link);
  }
  return apart;
}

Pattern unfolded(const Pattern& pattern) {
  Pattern whole = pattern;
  whole.fold = {};
  whole.path_links.clear();
  for (Phase& phase : whole.phases) {
    const Phase folded = std::exchange(phase, {.flows = {}, .steps = phase.steps});
    phase.coupling = folded.coupling;
    phase.flows.reserve(folded.flow_count());
    folded.visit_flows([&](std::size_t index, int machine) {
      PatternFlow flow = folded.flows[index];
      const auto begin = static_cast<std::uint32_t>(whole.path_links.size());
      for (const LinkId link : path_of(pattern, flow)) {
        whole.path_links.push_back(link + machine * pattern.fold.links);
      }
      flow.source += machine * pattern.fold.ranks;
      flow.destination += machine * pattern.fold.ranks;
      flow.path_begin = begin;
      phase.flows.push_back(flow);
    });
  }
  whole.seal();
  return whole;
}

}  // namespace gradwire
