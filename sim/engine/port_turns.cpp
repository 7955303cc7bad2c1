#include "sim/engine/port_turns.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace gradwire {
namespace {

/// Calls `use` with each flow class of a pattern.
void for_each_flow(const Quotient& quotient, const PatternClasses& pattern,
                   const std::function<void(const FlowClass&)>& use) {
  for (const PhaseClasses& phase : pattern.phases) {
    for (const GroupClass& group : phase.groups) {
      for (const GroupClass::Member& member : group.members) {
        use(quotient.flow_classes[member.flow_class]);
      }
    }
  }
}

/// [column]: is it one of a GPU's copies, or of messages? What a collective that has messages moves
/// within machines is none: its library sends both in the order of its own loop.
struct Columns {
  std::vector<bool> copies;
  std::vector<bool> messages;
};

Columns columns_of(const Quotient& quotient) {
  const std::size_t count = quotient.problem.columns.size();
  Columns columns{std::vector<bool>(count, false), std::vector<bool>(count, false)};
  for (const PatternClasses& pattern : quotient.patterns) {
    bool has_messages = false;
    for_each_flow(quotient, pattern, [&](const FlowClass& flow) {
      if (flow.kind.hop != Hop::network) return;
      has_messages = true;
      columns.messages[flow.column] = true;
    });
    if (has_messages) continue;
    for_each_flow(quotient, pattern, [&](const FlowClass& flow) {
      if (flow.kind.hop == Hop::pcie) columns.copies[flow.column] = true;
    });
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
  Columns columns = columns_of(quotient);
  const std::vector<bool> by_copies = used_by(columns.copies, quotient.problem);
  const std::vector<bool> by_messages = used_by(columns.messages, quotient.problem);
  for (std::size_t row = 0; row < by_copies.size(); ++row) {
    if (!by_copies[row] || !by_messages[row]) continue;
    quotient.problem.copies = std::move(columns.copies);
    return;
  }
}

}  // namespace gradwire
