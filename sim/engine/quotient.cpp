#include "sim/engine/quotient.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/engine/shared_rows.hpp"

namespace gradwire {
namespace {

constexpr std::uint32_t no_class = std::numeric_limits<std::uint32_t>::max();

class QuotientBuilder {
 public:
  QuotientBuilder(const FlowGraph& graph, const Partition& partition, FlowProblem problem)
      : graph_(graph),
        partition_(partition),
        seen_(partition.flow_classes, false),
        groups_(partition.group_classes),
        member_(partition.flow_classes, no_class),
        stage_(graph.before_begin.empty() ? 0 : graph.flow_count(), no_class) {
    result_.problem = std::move(problem);
    loads_.resize(result_.problem.capacity.size());
    result_.patterns.resize(static_cast<std::size_t>(graph.pattern_count));
    result_.flow_classes.resize(partition.flow_classes);
    for (const PhaseRange& range : graph.phases) add_phase(range);
  }

  Quotient take() { return std::move(result_); }

 private:
  void add_phase(const PhaseRange& range) {
    PatternClasses& pattern = result_.patterns[static_cast<std::size_t>(range.pattern)];
    const auto [told, is_new] = told_.try_emplace(range.flow_begin, Told{pattern.phases.size()});
    if (is_new) {
      pattern.phases.push_back(tell(range, told->second.seconds_per_byte));
    } else {
      PhaseClasses again = pattern.phases[told->second.phase];
      again.steps = range.steps;
      pattern.phases.push_back(std::move(again));
    }
    pattern.seconds_per_byte += told->second.seconds_per_byte;
  }

  /// @param seconds_per_byte  is set to that of its bottleneck.
  PhaseClasses tell(const PhaseRange& range, double& seconds_per_byte) {
    PhaseClasses phase{range.coupling, range.steps, {}};
    std::vector<std::uint32_t> classes;
    for (std::uint32_t flow = range.flow_begin; flow < range.flow_end; ++flow) {
      const std::uint32_t id = partition_.flow_class[flow];
      const bool is_new = !seen_[id];
      if (is_new) {
        seen_[id] = true;
        result_.flow_classes[id].kind = graph_.kinds[graph_.kind[flow]];
        result_.flow_classes[id].column = id;
        classes.push_back(id);
      }
      if (graph_.group_of(flow) != FlowGraph::no_group) {
        count(phase, flow, id);
      } else if (is_new) {
        phase.groups.push_back({.members = {{id, 1}}, .flows = 1, .stages = {}, .coupled = {}});
      }
    }
    if (range.coupling == Coupling::pipeline && !forwards_messages(range.coupling, range.steps)) {
      tell_stages(range, phase);
    }
    phase.groups.shrink_to_fit();  // hundreds of thousands in all
    seconds_per_byte = weigh_rows(classes);
    return phase;
  }

  /// Counts a flow if its group is the one that tells of its class, the first of it.
  void count(PhaseClasses& phase, std::uint32_t flow, std::uint32_t flow_class) {
    const std::uint32_t group = graph_.group_of(flow);
    GroupEntry& entry = groups_[partition_.group_class[group]];
    if (entry.teller == no_class) {
      entry = {group, static_cast<std::uint32_t>(phase.groups.size())};
      phase.groups.emplace_back();
    }
    if (entry.teller != group) return;
    GroupClass& told = phase.groups[entry.index];
    ++told.flows;
    std::uint32_t& member = member_[flow_class];
    const bool is_first = member == no_class;
    if (is_first) {
      member = static_cast<std::uint32_t>(told.members.size());
      told.members.push_back({flow_class, 0});
    }
    ++told.members[member].count;
    if (!forwards_messages(phase.coupling, phase.steps)) return;
    stage_[flow] = member;
    if (!is_first) return;
    std::vector<std::uint32_t> before;
    for (const std::uint32_t awaited : graph_.awaited_by(flow)) before.push_back(stage_[awaited]);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    told.stages.push_back({flow_class, std::move(before)});
  }

  /// The stages of each class of a phase's groups, and those of others of the class that differ.
  void tell_stages(const PhaseRange& range, PhaseClasses& phase) {
    for (std::uint32_t begin = range.flow_begin; begin < range.flow_end;) {
      const std::uint32_t group = graph_.group_of(begin);
      std::uint32_t end = begin;
      while (end < range.flow_end && graph_.group_of(end) == group) ++end;
      GroupClass& told = phase.groups[groups_[partition_.group_class[group]].index];
      if (told.stages.empty()) {
        told.stages = stages_of(begin, end);
      } else if (!has_stages(begin, told.stages) &&
                 std::ranges::none_of(told.otherwise, [&](const auto& stages) {
                   return has_stages(begin, stages);
                 })) {
        told.otherwise.push_back(stages_of(begin, end));
      }
      begin = end;
    }
  }

  /// Of the group whose flows these are.
  [[nodiscard]] std::vector<GroupClass::Stage> stages_of(std::uint32_t begin,
                                                         std::uint32_t end) const {
    std::vector<GroupClass::Stage> stages;
    stages.reserve(end - begin);
    for (std::uint32_t flow = begin; flow < end; ++flow) {
      GroupClass::Stage& stage = stages.emplace_back();
      stage.flow_class = partition_.flow_class[flow];
      for (const std::uint32_t awaited : graph_.awaited_by(flow)) {
        stage.before.push_back(awaited - begin);
      }
    }
    return stages;
  }

  /// Whether they are those of the group that begins there, which has as many.
  [[nodiscard]] bool has_stages(std::uint32_t begin,
                                const std::vector<GroupClass::Stage>& stages) const {
    std::uint32_t flow = begin;
    return std::ranges::all_of(stages, [&](const GroupClass::Stage& stage) {
      const bool alike = stage.flow_class == partition_.flow_class[flow];
      return std::ranges::equal(graph_.awaited_by(flow++), stage.before, {},
                                [&](std::uint32_t awaited) { return awaited - begin; }) &&
             alike;
    });
  }

  /// Sets the fair rates of a phase's flow classes. @return seconds per byte of its bottleneck.
  double weigh_rows(const std::vector<std::uint32_t>& classes) {
    const FlowProblem& problem = result_.problem;
    for (const std::uint32_t id : classes) {
      for (const RowUse& use : problem.columns[id]) {
        loads_[use.row].flows += use.weight;
        loads_[use.row].bytes += use.weight * result_.flow_classes[id].kind.share;
      }
    }
    double seconds = 0;
    for (const std::uint32_t id : classes) {
      double rate = result_.flow_classes[id].kind.ceiling;
      for (const RowUse& use : problem.columns[id]) {
        const double capacity = problem.capacity[use.row];
        rate = std::min(rate, capacity / loads_[use.row].flows);
        seconds = std::max(seconds, loads_[use.row].bytes / capacity);
      }
      assert(std::isfinite(rate));
      result_.flow_classes[id].fair_rate = rate;
    }
    for (const std::uint32_t id : classes) {
      for (const RowUse& use : problem.columns[id]) loads_[use.row] = {};
    }
    return seconds;
  }

  const FlowGraph& graph_;
  const Partition& partition_;
  // A class of flows or groups belongs to one phase, so these serve all phases.
  struct GroupEntry {
    std::uint32_t teller = no_class;
    std::uint32_t index = 0;  ///< in PhaseClasses::groups
  };
  std::vector<bool> seen_;
  std::vector<GroupEntry> groups_;
  std::vector<std::uint32_t> member_;  ///< flow class -> index in GroupClass::members
  std::vector<std::uint32_t> stage_;   ///< flow -> index in GroupClass::stages
  struct Told {
    std::size_t phase = 0;  ///< of the pattern
    double seconds_per_byte = 0;
  };
  std::map<std::uint32_t, Told> told_;  ///< by first flow
  /// What a phase moves over a row / size of the collective.
  struct Load {
    double flows = 0;
    double bytes = 0;
  };
  std::vector<Load> loads_;  ///< by row; between phases all are 0
  Quotient result_;
};

bool moves_equally(const GroupClass& group, const std::vector<FlowClass>& classes) {
  const double share = classes[group.members.front().flow_class].kind.share;
  return std::all_of(group.members.begin(), group.members.end(), [&](const auto& member) {
    return classes[member.flow_class].kind.share == share;
  });
}

/// Gives the columns of a group new places from `next` on: one for all where it couples, else each
/// its own. Of a phase that is the same as another they have theirs. @return the next free place.
std::uint32_t rename_columns(const GroupClass& group, const std::vector<FlowClass>& classes,
                             bool couples, std::uint32_t next,
                             std::vector<std::uint32_t>& renamed) {
  if (renamed[classes[group.members.front().flow_class].column] != no_class) return next;
  for (const GroupClass::Member& member : group.members) {
    renamed[classes[member.flow_class].column] = couples ? next : next++;
  }
  return couples ? next + 1 : next;
}

}  // namespace

bool Quotient::couple() {
  const auto couples = [this](const PhaseClasses& phase, const GroupClass& group) {
    return moves_as_one(phase.coupling, phase.steps) && moves_equally(group, flow_classes);
  };
  const bool any = std::ranges::any_of(patterns, [&](const PatternClasses& pattern) {
    return std::ranges::any_of(pattern.phases, [&](const PhaseClasses& phase) {
      return std::ranges::any_of(phase.groups,
                                 [&](const GroupClass& group) { return couples(phase, group); });
    });
  });
  if (!any) return false;
  // Old column -> new one: that of its group, or its own.
  std::vector<std::uint32_t> renamed(problem.columns.size(), no_class);
  std::uint32_t columns = 0;
  for (PatternClasses& pattern : patterns) {
    for (PhaseClasses& phase : pattern.phases) {
      for (GroupClass& group : phase.groups) {
        const bool rigid = couples(phase, group);
        columns = rename_columns(group, flow_classes, rigid, columns, renamed);
        if (!rigid) continue;
        const FlowClass& first = flow_classes[group.members.front().flow_class];
        group.coupled = {.column = renamed[first.column], .share = first.kind.share};
      }
    }
  }
  std::vector<Hop> hops(problem.columns.size());
  for (const FlowClass& flow : flow_classes) hops[flow.column] = flow.kind.hop;
  problem = join_columns(problem, renamed, columns, hops);
  for (FlowClass& flow : flow_classes) flow.column = renamed[flow.column];
  return true;
}

Quotient make_quotient(const FlowGraph& graph, const Partition& partition) {
  return make_quotient(graph, partition, make_problem(graph, partition));
}

Quotient make_quotient(const FlowGraph& graph, const Partition& partition, FlowProblem problem) {
  return QuotientBuilder(graph, partition, std::move(problem)).take();
}

}  // namespace gradwire
