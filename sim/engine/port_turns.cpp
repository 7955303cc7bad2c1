#include "sim/engine/port_turns.hpp"

#include <algorithm>
#include <iterator>

namespace gradwire {
namespace {

/// Beside more messages a copy gets less than half: each part is a flow to be simulated.
constexpr std::uint32_t parts_most = 16;

/// Columns of flows that a hop of this kind slows, which move at once and once.
std::vector<std::uint32_t> columns_of(const Quotient& quotient, Hop hop) {
  std::vector<std::uint32_t> columns;
  const auto add = [&](const PhaseClasses& phase) {
    if (phase.coupling != Coupling::independent || phase.steps != 1) return;
    for (const GroupClass& group : phase.groups) {
      for (const GroupClass::Member& member : group.members) {
        const FlowClass& flow = quotient.flow_classes[member.flow_class];
        if (flow.kind.hop == hop) columns.push_back(flow.column);
      }
    }
  };
  for (const PatternClasses& pattern : quotient.patterns) {
    std::ranges::for_each(pattern.phases, add);
  }
  return columns;
}

/// [row]: does one of the columns use it?
std::vector<bool> used_by(const std::vector<std::uint32_t>& columns, const FlowProblem& problem) {
  std::vector<bool> used(problem.capacity.size());
  for (const std::uint32_t column : columns) {
    for (const RowUse& use : problem.columns[column]) used[use.row] = true;
  }
  return used;
}

}  // namespace

PortTurns::PortTurns(const Quotient& quotient) : messages_(quotient.problem.capacity.size(), 0) {
  const FlowProblem& problem = quotient.problem;
  const std::vector<std::uint32_t> copies = columns_of(quotient, Hop::pcie);
  const std::vector<std::uint32_t> messages = columns_of(quotient, Hop::network);
  const std::vector<bool> by_copies = used_by(copies, problem);
  const std::vector<bool> by_messages = used_by(messages, problem);
  const auto is_shared = [&](const RowUse& use) {
    return by_copies[use.row] && by_messages[use.row];
  };
  const auto keep = [&](const std::vector<std::uint32_t>& columns, bool is_copy) {
    for (const std::uint32_t column : columns) {
      const std::vector<RowUse>& uses = problem.columns[column];
      if (std::ranges::none_of(uses, is_shared)) continue;
      columns_.resize(problem.columns.size());
      columns_[column] = {.is_copy = is_copy, .shared = {}};
      std::ranges::copy_if(uses, std::back_inserter(columns_[column].shared), is_shared);
    }
  };
  keep(copies, true);
  keep(messages, false);
}

std::uint32_t PortTurns::begin(std::uint32_t column) {
  std::uint32_t parts = 1;
  if (columns_.empty()) return parts;
  const Column& of = columns_[column];
  for (const RowUse& use : of.shared) {
    if (of.is_copy) {
      parts = std::max(parts, messages_[use.row]);
    } else {
      messages_[use.row] += use.weight;
    }
  }
  return std::min(parts, parts_most);
}

void PortTurns::end(std::uint32_t column) {
  if (columns_.empty() || columns_[column].is_copy) return;
  const Column& of = columns_[column];
  for (const RowUse& use : of.shared) messages_[use.row] -= use.weight;
}

}  // namespace gradwire
