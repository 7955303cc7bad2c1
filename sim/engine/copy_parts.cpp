#include "sim/engine/copy_parts.hpp"

#include <algorithm>
#include <iterator>

namespace gradwire {
namespace {

/// Beside more flows a copy gets less than half: each part counts as a flow when rates are sought.
constexpr std::uint32_t parts_most = 64;

}  // namespace

CopyParts::CopyParts(const FlowProblem& problem) {
  if (problem.copies.empty()) return;
  std::vector<bool> by_copies(problem.capacity.size(), false);
  std::vector<bool> by_others(problem.capacity.size(), false);
  for (std::size_t column = 0; column < problem.columns.size(); ++column) {
    auto& by = problem.is_copy(column) ? by_copies : by_others;
    for (const RowUse& use : problem.columns[column]) by[use.row] = true;
  }
  parts_.reserve(problem.capacity.size());
  for (std::size_t row = 0; row < problem.capacity.size(); ++row) {
    parts_.push_back(problem.parts_of(row));
  }
  others_.assign(problem.capacity.size(), 0);
  most_.assign(problem.capacity.size(), 0);
  columns_.reserve(problem.columns.size());
  for (std::size_t column = 0; column < problem.columns.size(); ++column) {
    Column& added = columns_.emplace_back();
    added.is_copy = problem.is_copy(column);
    std::ranges::copy_if(
        problem.columns[column], std::back_inserter(added.shared),
        [&](const RowUse& use) { return by_copies[use.row] && by_others[use.row]; });
  }
}

std::uint32_t CopyParts::begin(std::uint32_t column) {
  std::uint32_t parts = 1;
  if (columns_.empty()) return parts;
  const Column& of = columns_[column];
  for (const RowUse& use : of.shared) {
    if (of.is_copy) {
      parts = std::max(parts, most_[use.row]);
    } else {
      others_[use.row] += use.weight;
      most_[use.row] = std::max(most_[use.row], parts_[use.row] * others_[use.row]);
    }
  }
  return std::min(parts, parts_most);
}

void CopyParts::end(std::uint32_t column) {
  if (columns_.empty() || columns_[column].is_copy) return;
  for (const RowUse& use : columns_[column].shared) others_[use.row] -= use.weight;
}

}  // namespace gradwire
