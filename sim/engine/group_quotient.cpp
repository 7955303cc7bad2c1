#include "sim/engine/group_quotient.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace gradwire {

GroupReading::GroupReading(ClusterLinks links, std::span<const Pattern> patterns)
    : links_(links), patterns_(patterns) {
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    for (const Phase& phase : patterns[p].phases) {
      if (!phase.flows.empty()) phases_.push_back({static_cast<int>(p), &phase});
    }
  }
}

void GroupReading::read(std::size_t phase) {
  Read& read = phases_[phase];
  PhaseReader reader(links_);
  read.is_rigid = reader.read(patterns_[at(read.pattern)], *read.phase);
  if (!read.is_rigid) return;
  read.rows = reader.rows();
  read.bodies = reader.take_bodies();
  read.classes = reader.take_classes();
}

void GroupReading::append(const Read& read, FlowGraph& graph) {
  graph.parts.push_back(graph.end());
  const auto first = static_cast<std::uint32_t>(graph.flow_count());
  const auto phase = static_cast<std::uint32_t>(graph.phases.size());
  std::vector<std::vector<std::uint32_t>> paths(read.bodies.size());
  std::map<double, std::uint32_t> known;
  for (std::uint32_t i = 0; i < graph.capacities.size(); ++i) known[graph.capacities[i]] = i;
  for (const PhaseReader::Row& row : read.rows) {
    const auto next = static_cast<std::uint32_t>(graph.capacities.size());
    const auto [capacity, is_new] = known.try_emplace(row.capacity, next);
    if (is_new) graph.capacities.push_back(row.capacity);
    const auto link = static_cast<std::uint32_t>(graph.capacity.size());
    graph.capacity.push_back(capacity->second);
    for (const auto& [body, times] : row.bodies) paths[body].insert(paths[body].end(), times, link);
  }
  const auto kinds = static_cast<std::uint32_t>(graph.kinds.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const PhaseReader::Body& body = read.bodies[i];
    graph.path.insert(graph.path.end(), paths[i].begin(), paths[i].end());
    graph.path_begin.push_back(static_cast<std::uint32_t>(graph.path.size()));
    graph.kind.push_back(kinds + body.kind);
    const FlowKind kind{.phase = phase, .share = body.share, .latency = 0, .hop = Hop::nvlink};
    if (kinds + body.kind == graph.kinds.size()) graph.kinds.push_back(kind);
  }
  graph.phases.push_back({read.pattern, first, static_cast<std::uint32_t>(graph.flow_count()),
                          read.phase->steps, Coupling::independent});
}

std::vector<FlowClass> GroupReading::number_classes() {
  std::vector<FlowClass> all;
  for (Read& read : phases_) {
    const auto first = static_cast<std::uint32_t>(all.size());
    std::ranges::copy(read.classes, std::back_inserter(all));
    for (PhaseReader::Body& body : read.bodies) {
      for (GroupClass::Member& member : body.told.members) member.flow_class += first;
      for (GroupClass::Stage& stage : body.told.stages) stage.flow_class += first;
    }
  }
  return all;
}

std::vector<const PhaseReader::Body*> GroupReading::first_of(const Partition& partition) const {
  std::vector<const PhaseReader::Body*> first(partition.flow_classes, nullptr);
  std::size_t number = 0;
  for (const Read& read : phases_) {
    for (const PhaseReader::Body& body : read.bodies) {
      const PhaseReader::Body*& of_class = first[partition.flow_class[number++]];
      if (of_class == nullptr) of_class = &body;
    }
  }
  return first;
}

std::optional<GroupQuotient> GroupReading::quotient() && {
  if (!std::ranges::all_of(phases_, &Read::is_rigid)) return std::nullopt;
  std::vector<FlowClass> classes = number_classes();
  FlowGraph graph;
  graph.path_begin.push_back(0);
  graph.pattern_count = static_cast<int>(patterns_.size());
  for (const Read& read : phases_) append(read, graph);
  const Partition partition = refine(graph);
  GroupQuotient result{.quotient = make_quotient(graph, partition),
                       .flow_classes = classes.size(),
                       .link_classes = graph.capacity.size()};
  const std::vector<const PhaseReader::Body*> told = first_of(partition);
  auto read = phases_.begin();
  for (PatternClasses& pattern : result.quotient.patterns) {
    for (PhaseClasses& of : pattern.phases) {
      of.coupling = (read++)->phase->coupling;
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
