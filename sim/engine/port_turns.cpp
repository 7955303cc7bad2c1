#include "sim/engine/port_turns.hpp"

#include <algorithm>

namespace gradwire {
namespace {

/// Beside more messages a copy gets less than half: each part is a flow to be simulated.
constexpr std::uint32_t parts_most = 16;

}  // namespace

PortTurns::PortTurns(const Quotient& quotient)
    : columns_(quotient.problem.columns.size()), messages_(quotient.problem.capacity.size(), 0) {
  std::vector<std::uint32_t> copies;
  std::vector<std::uint32_t> messages;
  for (const PatternClasses& pattern : quotient.patterns) {
    for (const PhaseClasses& phase : pattern.phases) {
      if (phase.coupling != Coupling::independent || phase.steps != 1) continue;
      for (const GroupClass& group : phase.groups) {
        for (const GroupClass::Member& member : group.members) {
          const FlowClass& flow = quotient.flow_classes[member.flow_class];
          if (flow.kind.hop == Hop::pcie) copies.push_back(flow.column);
          if (flow.kind.hop == Hop::network) messages.push_back(flow.column);
        }
      }
    }
  }
  std::vector<std::uint8_t> used(messages_.size(), 0);
  const auto mark = [&](const std::vector<std::uint32_t>& columns, std::uint8_t by) {
    for (const std::uint32_t column : columns) {
      for (const RowUse& use : quotient.problem.columns[column]) used[use.row] |= by;
    }
  };
  mark(copies, 1);
  mark(messages, 2);
  const auto keep = [&](const std::vector<std::uint32_t>& columns, bool is_copy) {
    for (const std::uint32_t column : columns) {
      Column& kept = columns_[column];
      kept.is_copy = is_copy;
      kept.shared.clear();
      for (const RowUse& use : quotient.problem.columns[column]) {
        if (used[use.row] == 3) kept.shared.push_back(use);
      }
    }
  };
  if (std::ranges::find(used, 3) == used.end()) {
    columns_.clear();
    return;
  }
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
