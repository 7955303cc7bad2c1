#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/flow_graph.hpp"
#include "sim/engine/refinement.hpp"
#include "sim/engine/transport.hpp"

namespace gradwire {

/// Flows that behave alike.
struct FlowClass {
  FlowKind kind;
  std::uint32_t column = 0;  ///< in the flow problem; of no use where its group is coupled
  /// Bytes per second of each flow when its phase is uncontended and each of a link's flows gets an
  /// equal part of it, its ceiling at most.
  double fair_rate = 0;
};

/// Groups of a phase that behave alike, told by one of them.
struct GroupClass {
  struct Member {
    std::uint32_t flow_class = 0;
    std::uint32_t count = 0;  ///< flows of that class in one group
  };
  /// A flow of a pipeline: its class, and the earlier flows of the group that it waits for. Where
  /// whole messages are sent on, flows of a class move at the same time, and one stands for all.
  struct Stage {
    std::uint32_t flow_class = 0;
    std::vector<std::uint32_t> before;  ///< indices into `stages`, each once
  };
  std::vector<Member> members;  ///< in order of first appearance in the group
  std::uint32_t flows = 0;      ///< of one group
  /// Of a pipeline: all its flows, in the pattern's order, or a flow of each member, in theirs.
  std::vector<Stage> stages;
  /// The same of groups of this class that pass such flows in another order: each that there is.
  std::vector<std::vector<Stage>> otherwise{};
  /// Where couple() made one flow of the group: its column, and what it moves.
  struct Coupled {
    std::uint32_t column = 0;
    double share = 0;
  };
  std::optional<Coupled> coupled;
};

struct PhaseClasses {
  Coupling coupling = Coupling::independent;
  int steps = 1;
  std::vector<GroupClass> groups;  ///< an independent flow class is a group of one flow
};

struct PatternClasses {
  std::vector<PhaseClasses> phases;
  /// The physical bound: wire seconds per byte of the collective on each phase's bottleneck.
  double seconds_per_byte = 0;
};

/// The patterns with one flow for every class: the same rates as the flow graph, and small.
struct Quotient {
  FlowProblem problem;
  std::vector<FlowClass> flow_classes;
  std::vector<PatternClasses> patterns;

  /// Makes one flow of each ring and pipeline whose flows move equally much: they advance as if
  /// they were one rigid body over all their links. The problem is then as small as there are
  /// different groups, however many classes their flows have. Independent flows stay as they are,
  /// and so do those that forward whole messages.
  /// @return whether there was any to make one of.
  bool couple();
};

/// REQUIRES: `partition` is one that refine() or no_merging() made of `graph`.
[[nodiscard]] Quotient make_quotient(const FlowGraph& graph, const Partition& partition);

/// The same, where make_problem() has been called and paths are forgotten.
[[nodiscard]] Quotient make_quotient(const FlowGraph& graph, const Partition& partition,
                                     FlowProblem problem);

}  // namespace gradwire
