#include "sim/cost/user_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/core/refusal.hpp"

namespace gradwire {

UserLines::UserLines(std::shared_ptr<const Cluster> cluster, std::vector<UserLine> lines)
    : cluster_(std::move(cluster)), lines_(std::move(lines)) {
  assert(cluster_ && !lines_.empty());
  assert(std::ranges::all_of(lines_, [](const UserLine& line) {
    return std::isfinite(line.alpha.count()) && line.alpha.count() >= 0 &&
           line.bandwidth.count() > 0;
  }));
}

const UserLine* UserLines::line_of(CollectiveKind kind, const std::string& algorithm) const {
  const UserLine* found = nullptr;
  for (const UserLine& line : lines_) {
    if (line.algorithm != algorithm || (line.op && line.op != kind)) continue;
    if (found == nullptr || line.op) found = &line;
  }
  return found;
}

std::vector<Pattern> UserLines::plan(CollectiveKind kind, const Placement& ranks) const {
  std::vector<Pattern> patterns;
  for (const UserLine& line : lines_) {
    const bool fits =
        (!line.op || line.op == kind) && find_algorithm(line.algorithm, kind) != nullptr;
    if (!fits ||
        std::ranges::find(patterns, line.algorithm, &Pattern::algorithm) != patterns.end()) {
      continue;
    }
    patterns.push_back(plan_collective(kind, line.algorithm, *cluster_, ranks));
  }
  if (patterns.empty()) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::library,
        fmt::format("library user has no line for {}; expected one under 'collective.lines'",
                    name_of(kind)));
  }
  return patterns;
}

CollectiveChoice UserLines::choose(std::span<const Pattern> patterns, Bytes size) const {
  CollectiveChoice choice;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const UserLine* line = line_of(patterns[i].kind, patterns[i].algorithm);
    assert(line != nullptr);
    const Seconds time = line->alpha + size / line->bandwidth;
    if (choice.cost.uncontended && *choice.cost.uncontended <= time) continue;
    choice.pattern = i;
    choice.cost.uncontended = time;
    choice.cost.algorithm = patterns[i].algorithm;
    choice.cost.source = "fit";
  }
  return choice;
}

}  // namespace gradwire
