#include "sim/engine/quotient.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace gradwire {
namespace {

constexpr std::uint32_t no_class = std::numeric_limits<std::uint32_t>::max();

/// A row of the problem before it is turned into columns: (flow class, weight), sorted.
using Row = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Sorts a row, and adds up what it has of each class.
void add_up(Row& row) {
  std::ranges::sort(row);
  std::size_t last = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].first == row[last].first) {
      row[last].second += row[i].second;
    } else {
      row[++last] = row[i];
    }
  }
  if (!row.empty()) row.resize(last + 1);
}

/// What one link of each class carries: flows of each flow class, with their multiplicity.
std::vector<Row> link_rows(const FlowGraph& graph, const Partition& partition,
                           std::vector<std::uint32_t>& representative) {
  representative.assign(partition.link_classes, no_class);
  for (std::uint32_t link = 0; link < partition.link_class.size(); ++link) {
    std::uint32_t& chosen = representative[partition.link_class[link]];
    if (chosen == no_class) chosen = link;
  }
  std::vector<Row> rows(partition.link_classes);
  for (std::size_t flow = 0; flow < graph.flow_count(); ++flow) {
    for (const std::uint32_t link : graph.links_of(flow)) {
      if (std::isinf(graph.capacities[graph.capacity[link]])) continue;
      const std::uint32_t id = partition.link_class[link];
      if (representative[id] != link) continue;
      Row& row = rows[id];
      const std::uint32_t flow_class = partition.flow_class[flow];
      // Mostly those of a class stand side by side.
      if (row.empty() || row.back().first != flow_class) row.emplace_back(flow_class, 0);
      ++row.back().second;
    }
  }
  for (Row& row : rows) add_up(row);
  return rows;
}

/// Which kinds of hops the flows of a column have.
struct ColumnHops {
  bool pcie = false;
  bool network = false;

  ColumnHops& operator|=(const ColumnHops& other) {
    pcie |= other.pcie;
    network |= other.network;
    return *this;
  }
};

ColumnHops hops_of(Hop hop) {
  return {.pcie = hop == Hop::pcie, .network = hop == Hop::network};
}

/// Copies and messages may take turns on it.
bool may_have_turns(const Row& row, const std::vector<ColumnHops>& hops) {
  ColumnHops all;
  for (const auto& [column, weight] : row) all |= hops[column];
  return all.pcie && all.network;
}

/// Rows that weigh the same columns in the same proportion become one, with the least capacity:
/// up and down link of a ring, or a wide link behind a narrow one. Not those on which flows may
/// take turns, unless they are as large parts of their links: a NIC has one port on each.
/// @param parts  as FlowProblem has them of the rows before.
FlowProblem merge_rows(std::vector<Row> rows, const std::vector<double>& capacities,
                       const std::vector<std::uint32_t>& parts,
                       const std::vector<ColumnHops>& hops) {
  FlowProblem problem;
  problem.columns.resize(hops.size());
  using Key = std::pair<Row, std::uint32_t>;
  std::unordered_map<Key, std::uint32_t, boost::hash<Key>> known;  // looked up, never walked
  for (std::size_t id = 0; id < rows.size(); ++id) {
    std::uint32_t divisor = 0;
    if (rows[id].empty()) continue;  // of links that hold nothing up
    for (const auto& [column, weight] : rows[id]) divisor = std::gcd(divisor, weight);
    for (auto& [column, weight] : rows[id]) weight /= divisor;
    const double capacity = capacities[id] / divisor;
    const bool turns = may_have_turns(rows[id], hops);
    const std::uint32_t of = turns ? divisor * (parts.empty() ? 1 : parts[id]) : 1;
    const auto next = static_cast<std::uint32_t>(problem.capacity.size());
    const auto [found, is_new] = known.try_emplace({std::move(rows[id]), of}, next);
    if (is_new) {
      problem.capacity.push_back(capacity);
      problem.parts.push_back(of);
      for (const auto& [column, weight] : found->first.first) {
        problem.columns[column].push_back({next, weight});
      }
    } else {
      double& least = problem.capacity[found->second];
      least = std::min(least, capacity);
    }
  }
  return problem;
}

FlowProblem make_problem(const FlowGraph& graph, const Partition& partition) {
  std::vector<std::uint32_t> representative;
  std::vector<Row> rows = link_rows(graph, partition, representative);
  std::vector<double> capacities;
  capacities.reserve(representative.size());
  for (const std::uint32_t link : representative) {
    capacities.push_back(graph.capacities[graph.capacity[link]]);
  }
  std::vector<ColumnHops> hops(partition.flow_classes);
  for (std::size_t flow = 0; flow < graph.flow_count(); ++flow) {
    hops[partition.flow_class[flow]] = hops_of(graph.kinds[graph.kind[flow]].hop);
  }
  return merge_rows(std::move(rows), capacities, {}, hops);
}

class QuotientBuilder {
 public:
  QuotientBuilder(const FlowGraph& graph, const Partition& partition)
      : graph_(graph),
        partition_(partition),
        seen_(partition.flow_classes, false),
        groups_(partition.group_classes),
        member_(partition.flow_classes, no_class),
        stage_(graph.flow_count(), no_class) {
    result_.problem = make_problem(graph, partition);
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

/// The problem in which each column takes the place that `renamed` gives it; of several in one
/// place the weights add up.
/// @param hops  of the old ones.
FlowProblem join_columns(const FlowProblem& problem, const std::vector<std::uint32_t>& renamed,
                         std::size_t columns, const std::vector<ColumnHops>& hops) {
  std::vector<Row> rows(problem.capacity.size());
  for (std::size_t column = 0; column < renamed.size(); ++column) {
    for (const RowUse& use : problem.columns[column]) {
      rows[use.row].emplace_back(renamed[column], use.weight);
    }
  }
  for (Row& row : rows) add_up(row);
  std::vector<ColumnHops> joined(columns);
  for (std::size_t column = 0; column < renamed.size(); ++column) {
    joined[renamed[column]] |= hops[column];
  }
  return merge_rows(std::move(rows), problem.capacity, problem.parts, joined);
}

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
  std::vector<ColumnHops> hops(problem.columns.size());
  for (const FlowClass& flow : flow_classes) hops[flow.column] = hops_of(flow.kind.hop);
  problem = join_columns(problem, renamed, columns, hops);
  for (FlowClass& flow : flow_classes) flow.column = renamed[flow.column];
  return true;
}

Quotient make_quotient(const FlowGraph& graph, const Partition& partition) {
  return QuotientBuilder(graph, partition).take();
}

}  // namespace gradwire
