#include "sim/engine/group_quotient.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/phase_reader.hpp"

namespace gradwire {
namespace {

/// Appends a phase to a graph of bodies, as a part of its own.
void append(PhaseReader& read, const PhaseRange& like, FlowGraph& graph) {
  graph.parts.push_back(graph.end());
  const auto first = static_cast<std::uint32_t>(graph.flow_count());
  const auto phase = static_cast<std::uint32_t>(graph.phases.size());
  std::vector<std::vector<std::uint32_t>> paths(read.bodies().size());
  std::map<double, std::uint32_t> known;
  for (std::uint32_t i = 0; i < graph.capacities.size(); ++i) known[graph.capacities[i]] = i;
  for (const PhaseReader::Row& row : read.rows()) {
    const auto next = static_cast<std::uint32_t>(graph.capacities.size());
    const auto [capacity, is_new] = known.try_emplace(row.capacity, next);
    if (is_new) graph.capacities.push_back(row.capacity);
    const auto link = static_cast<std::uint32_t>(graph.capacity.size());
    graph.capacity.push_back(capacity->second);
    for (const auto& [body, times] : row.bodies) paths[body].insert(paths[body].end(), times, link);
  }
  const auto kinds = static_cast<std::uint32_t>(graph.kinds.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const PhaseReader::Body& body = read.bodies()[i];
    graph.path.insert(graph.path.end(), paths[i].begin(), paths[i].end());
    graph.path_begin.push_back(static_cast<std::uint32_t>(graph.path.size()));
    graph.kind.push_back(kinds + body.kind);
    const FlowKind kind{.phase = phase, .share = body.share, .latency = 0, .hop = Hop::nvlink};
    if (kinds + body.kind == graph.kinds.size()) graph.kinds.push_back(kind);
  }
  graph.phases.push_back({like.pattern, first, static_cast<std::uint32_t>(graph.flow_count()),
                          like.steps, Coupling::independent});
}

}  // namespace

std::optional<GroupQuotient> make_group_quotient(ClusterLinks links,
                                                 std::span<const Pattern> patterns) {
  std::vector<FlowClass> classes;
  PhaseReader reader(links, classes);
  FlowGraph graph;
  graph.path_begin.push_back(0);
  graph.pattern_count = static_cast<int>(patterns.size());
  std::vector<PhaseReader::Body> bodies;
  std::vector<const Phase*> phases;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    for (const Phase& phase : patterns[p].phases) {
      if (phase.flows.empty()) continue;
      if (!reader.read(patterns[p], phase)) return std::nullopt;
      append(reader, {.pattern = static_cast<int>(p), .steps = phase.steps}, graph);
      bodies.insert(bodies.end(), reader.bodies().begin(), reader.bodies().end());
      phases.push_back(&phase);
    }
  }
  const Partition partition = refine(graph);
  GroupQuotient result{.quotient = make_quotient(graph, partition),
                       .flow_classes = classes.size(),
                       .link_classes = graph.capacity.size()};
  std::vector<const PhaseReader::Body*> told(partition.flow_classes,
                                             nullptr);  // the first of each class
  for (std::size_t body = 0; body < bodies.size(); ++body) {
    const PhaseReader::Body*& first = told[partition.flow_class[body]];
    if (first == nullptr) first = &bodies[body];
  }
  auto phase = phases.begin();
  for (PatternClasses& pattern : result.quotient.patterns) {
    for (PhaseClasses& of : pattern.phases) {
      of.coupling = (*phase++)->coupling;
      for (GroupClass& group : of.groups) {
        const std::uint32_t column = group.members.front().flow_class;
        group = told[column]->told;
        group.coupled = {.column = column, .share = told[column]->share};
      }
    }
  }
  result.quotient.flow_classes = std::move(classes);
  return result;
}

}  // namespace gradwire
