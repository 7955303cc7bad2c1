#include "sim/engine/port_turns.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gradwire {
namespace {

/// [column]: is it one of flows that a hop of this kind slows, which move at once and once?
std::vector<bool> columns_of(const Quotient& quotient, Hop hop) {
  std::vector<bool> columns(quotient.problem.columns.size(), false);
  const auto add = [&](const PhaseClasses& phase) {
    if (phase.coupling != Coupling::independent || phase.steps != 1) return;
    for (const GroupClass& group : phase.groups) {
      for (const GroupClass::Member& member : group.members) {
        const FlowClass& flow = quotient.flow_classes[member.flow_class];
        if (flow.kind.hop == hop) columns[flow.column] = true;
      }
    }
  };
  for (const PatternClasses& pattern : quotient.patterns) {
    std::ranges::for_each(pattern.phases, add);
  }
  return columns;
}

/// [row]: does one of the columns use it?
std::vector<bool> used_by(const std::vector<bool>& columns, const FlowProblem& problem) {
  std::vector<bool> used(problem.capacity.size(), false);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (!columns[column]) continue;
    for (const RowUse& use : problem.columns[column]) used[use.row] = true;
  }
  return used;
}

}  // namespace

void mark_copies(Quotient& quotient) {
  std::vector<bool> copies = columns_of(quotient, Hop::pcie);
  const std::vector<bool> by_copies = used_by(copies, quotient.problem);
  const std::vector<bool> by_messages =
      used_by(columns_of(quotient, Hop::network), quotient.problem);
  for (std::size_t row = 0; row < by_copies.size(); ++row) {
    if (!by_copies[row] || !by_messages[row]) continue;
    quotient.problem.copies = std::move(copies);
    return;
  }
}

}  // namespace gradwire
