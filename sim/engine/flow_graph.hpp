#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/cluster_link.hpp"
#include "sim/core/placement.hpp"

namespace gradwire {

/// The slowest kind of link on a path: it decides what a step costs beside the links' latency.
enum class Hop : std::uint8_t { nvlink, pcie, network };

/// What flows of one phase have in common when nothing is known of the links they share.
struct FlowKind {
  std::uint32_t phase = 0;  ///< index into FlowGraph::phases
  double share = 0;         ///< bytes moved / size of the collective
  double latency = 0;       ///< seconds, of all links of the path
  Hop hop = Hop::nvlink;
  /// Bytes per second that its TCP connections carry at most.
  double ceiling = std::numeric_limits<double>::infinity();
  /// Where whole messages are sent on: how many come before it, one after the other.
  std::uint32_t round = 0;

  bool operator==(const FlowKind&) const = default;
};

/// A phase of a pattern and its flows; phases of a pattern that are the same have the same.
struct PhaseRange {
  int pattern = 0;
  std::uint32_t flow_begin = 0;
  std::uint32_t flow_end = 0;
  int steps = 1;
  Coupling coupling = Coupling::independent;
};

/// Flows that share no link, kind or group with those before: where their own begin. They end where
/// the next part's begin.
struct GraphPart {
  std::uint32_t flow_begin = 0;
  std::uint32_t link_begin = 0;
  std::uint32_t group_begin = 0;
  std::uint32_t kind_begin = 0;
  std::uint32_t leg_begin = 0;
};

/// All flows of all patterns and the links they use, as parallel arrays.
struct FlowGraph {
  static constexpr LinkId no_link = -1;
  static constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();
  /// In a path, leg l is first_leg + l: there are fewer links.
  static constexpr std::uint32_t first_leg = 1U << 31U;

  /// Link -> the cluster's number; only links in use. A number stands here once for each phase that
  /// uses it when phases are separate; no_link for what the connections of a pair of ranks share,
  /// and for a rank of a group that sends whole messages on, with an infinite capacity: it has
  /// those that arrive there and those that begin there, so that flows are alike only if what they
  /// wait for is.
  std::vector<LinkId> link_id;
  std::vector<std::uint32_t> capacity;    ///< link -> index into capacities
  std::vector<double> capacities;         ///< the different ones, bytes per second
  std::vector<std::uint32_t> path_begin;  ///< flow f uses path[path_begin[f], path_begin[f+1])
  /// Links, one that stands twice carries the flow twice; from `first_leg` on, legs.
  std::vector<std::uint32_t> path;
  /// Leg l is leg_links[leg_begin[l], leg_begin[l+1]): links that flows of a part pass one after
  /// the other, told once for all of them.
  std::vector<std::uint32_t> leg_begin = {0};
  std::vector<std::uint32_t> leg_links;
  std::vector<std::uint32_t> kind;  ///< flow -> index into kinds
  /// Flow -> coupled group, or no_group; of those behind the last that has one nothing stands here.
  std::vector<std::uint32_t> group;
  std::uint32_t group_count = 0;
  /// Of a pipeline's flows: flow f waits for before[before_begin[f], before_begin[f+1]), earlier
  /// flows of its group. Of those behind the last pipeline nothing stands here.
  std::vector<std::uint32_t> before_begin;
  std::vector<std::uint32_t> before;
  std::vector<FlowKind> kinds;
  std::vector<PhaseRange> phases;  ///< phases without flows are left out
  std::vector<GraphPart> parts;    ///< a part for a phase's flows when separate, else one of all
  int pattern_count = 0;

  /// Where a part that comes next would begin.
  [[nodiscard]] GraphPart end() const {
    return {static_cast<std::uint32_t>(kind.size()), static_cast<std::uint32_t>(capacity.size()),
            group_count, static_cast<std::uint32_t>(kinds.size()),
            static_cast<std::uint32_t>(leg_begin.size() - 1)};
  }
  [[nodiscard]] std::size_t flow_count() const { return kind.size(); }
  [[nodiscard]] std::span<const std::uint32_t> links_of_leg(std::size_t leg) const {
    return std::span(leg_links).subspan(leg_begin[leg], leg_begin[leg + 1] - leg_begin[leg]);
  }
  /// Calls link(index) for each link that stands in a flow's path, and leg(index) for each leg.
  template <class Link, class Leg>
  void visit_path(std::size_t flow, Link link, Leg leg) const {
    for (std::uint32_t i = path_begin[flow]; i < path_begin[flow + 1]; ++i) {
      path[i] < first_leg ? link(path[i]) : leg(path[i] - first_leg);
    }
  }
  /// Calls visit(link) for each link that a flow uses, in their order.
  template <class Visit>
  void visit_links(std::size_t flow, Visit visit) const {
    visit_path(flow, visit, [&](std::uint32_t leg) {
      for (const std::uint32_t link : links_of_leg(leg)) visit(link);
    });
  }
  /// From now on nobody asks for links, nor for what passes them.
  void forget_paths() {
    for (auto* links : {&path_begin, &path, &leg_begin, &leg_links, &capacity}) {
      *links = std::vector<std::uint32_t>();
    }
    link_id = std::vector<LinkId>();
  }
  [[nodiscard]] std::uint32_t group_of(std::size_t flow) const {
    return flow < group.size() ? group[flow] : no_group;
  }
  [[nodiscard]] std::span<const std::uint32_t> awaited_by(std::size_t flow) const {
    if (flow + 1 >= before_begin.size()) return {};
    return std::span(before).subspan(before_begin[flow],
                                     before_begin[flow + 1] - before_begin[flow]);
  }
};

/// @param read  if given, is called for each pattern when it has been read, before the next one is.
/// @param separate_phases  no two phases are in flight together: each has links of its own.
/// REQUIRES: capacities > 0; each flow has a path and a share > 0; a phase has at least one step;
/// the flows of a pipeline's group stand side by side.
[[nodiscard]] FlowGraph make_flow_graph(ClusterLinks links, std::span<const Pattern> patterns,
                                        bool separate_phases = false,
                                        const std::function<void(int pattern)>& read = {});

}  // namespace gradwire
