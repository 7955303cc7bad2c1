#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/flow_graph.hpp"
#include "sim/engine/pair_index.hpp"

namespace gradwire {

/// What refine() puts into classes: a part's flows come first, then the links that are met more
/// than once, then its groups. A link that one flow meets once tells of nothing but that flow: its
/// capacity is of the flow's colour. So are mostly TCP's connections, one for each pair of a worker
/// and a server. Legs are no nodes: what is counted over them is counted link by link.
class RefinementNodes {
 public:
  using Node = std::uint32_t;
  using Leg = std::uint32_t;

  explicit RefinementNodes(const FlowGraph& graph) : graph_(graph) {}
  /// Those of a part from now on. What it needs of memory is used again for the next one.
  void index(const GraphPart& begin, const GraphPart& end);

  [[nodiscard]] Node flows() const { return flows_; }
  [[nodiscard]] Node first_group() const { return first_group_; }
  /// How many there are.
  [[nodiscard]] Node size() const { return size_; }
  /// Links, nodes or none: they count from 0.
  [[nodiscard]] std::uint32_t links() const { return links_; }
  /// Legs count from 0.
  [[nodiscard]] Leg legs() const { return legs_; }
  /// The link's node, or of one that is none its flow's.
  [[nodiscard]] Node node_of(std::uint32_t link) const { return seats_[link]; }
  [[nodiscard]] std::uint32_t capacity_of(std::uint32_t link) const {
    return graph_.capacity[begin_.link_begin + link];
  }
  /// Every flow is in a group.
  [[nodiscard]] bool all_grouped() const {
    return begins_.back() - begins_[first_group_ - flows_] == flows_;
  }

  /// Calls beside(node) for each neighbour of a node, as often as it is one, but for those over
  /// legs: for each of these leg(leg).
  template <class Beside, class OverLeg>
  void visit_neighbours(Node node, Beside beside, OverLeg leg) const {
    if (node < flows_) return visit_shared_by(node, beside, leg);
    const Node index = node - flows_;
    for (std::uint32_t i = begins_[index]; i < begins_[index + 1]; ++i) {
      const std::uint32_t user = users_[i];
      user < FlowGraph::first_leg ? beside(user) : leg(user - FlowGraph::first_leg);
    }
  }
  /// The flows that a leg joins to its links, each once.
  [[nodiscard]] std::span<const Node> flows_of(Leg leg) const {
    return std::span(flows_by_leg_)
        .subspan(flows_begin_[leg], flows_begin_[leg + 1] - flows_begin_[leg]);
  }
  /// Calls visit(node) for each link of a leg that is a node.
  template <class Visit>
  void visit_links_of(Leg leg, Visit visit) const {
    for (const std::uint32_t link : graph_.links_of_leg(begin_.leg_begin + leg)) {
      const Node seat = seats_[link - begin_.link_begin];
      if (seat >= flows_) visit(seat);
    }
  }
  [[nodiscard]] std::uint32_t degree_of(Node node) const;
  /// Asks for the memory of what is visited soon. Always inlined: to g++ 12 a call of it has no
  /// effect, and is taken out.
  [[gnu::always_inline]] void fetch(Node soon) const {
    if (soon < flows_) {
      __builtin_prefetch(&graph_.path_begin[begin_.flow_begin + soon]);
    } else {
      __builtin_prefetch(&begins_[soon - flows_]);
    }
  }

  /// Calls give(node, colour) for each: a flow's is its kind and the capacities of its links that
  /// are no nodes, a link's its capacity. @return how many colours there are, some of nobody.
  template <class Give>
  [[nodiscard]] std::uint32_t colour(Give give) const {
    const std::uint32_t kinds = kind_end_ - begin_.kind_begin;
    PairIndex pairs(kinds);
    std::vector<std::uint32_t> alone;
    for (Node flow = 0; flow < flows_; ++flow) give(flow, colour_of(flow, pairs, alone));
    const auto colours = static_cast<std::uint32_t>(kinds + pairs.size());
    for (std::uint32_t link = 0; link < links_; ++link) {
      if (seats_[link] >= flows_) give(seats_[link], colours + capacity_of(link));
    }
    const auto groups = static_cast<std::uint32_t>(colours + graph_.capacities.size());
    for (Node group = first_group_; group < size_; ++group) give(group, groups);
    return groups + 1;
  }

 private:
  /// Added to the users of a link that one leg of several flows has: it is a node.
  static constexpr std::uint32_t several_flows = 1U << 31U;

  /// Calls visit(index into seats_) for each link in a flow's path and for its group, leg(leg) for
  /// each leg.
  template <class Visit, class OverLeg>
  void visit_all_of(Node flow, Visit visit, OverLeg leg) const {
    graph_.visit_path(
        begin_.flow_begin + flow, [&](std::uint32_t link) { visit(link - begin_.link_begin); },
        [&](std::uint32_t of_all) { leg(of_all - begin_.leg_begin); });
    const std::uint32_t group = graph_.group_of(begin_.flow_begin + flow);
    if (group != FlowGraph::no_group) visit(links_ + (group - begin_.group_begin));
  }
  /// Calls visit(node) for each link and the group of a flow that are nodes, leg(leg) for each leg.
  template <class Visit, class OverLeg>
  void visit_shared_by(Node flow, Visit visit, OverLeg leg) const {
    visit_all_of(
        flow,
        [&](std::uint32_t index) {
          if (seats_[index] >= flows_) visit(seats_[index]);
        },
        leg);
  }
  [[nodiscard]] bool has_one_flow(Leg leg) const {
    return flows_begin_[leg + 1] - flows_begin_[leg] == 1;
  }
  /// Counts the flows of each leg, and in seats_ the flows and legs that have each link or group;
  /// of links that are nodes although one leg has them it is more.
  void count_users(std::uint32_t groups);
  /// Numbers the links and groups that are nodes, and finds where their users begin.
  void seat();
  /// Tells each node its users, and each leg its flows.
  void join();
  /// @param pairs  (colour so far, another capacity). @param alone  for what it needs of memory.
  [[nodiscard]] std::uint32_t colour_of(Node flow, PairIndex& pairs,
                                        std::vector<std::uint32_t>& alone) const;

  const FlowGraph& graph_;
  GraphPart begin_{};
  std::uint32_t kind_end_ = 0;
  Node flows_ = 0;
  std::uint32_t links_ = 0;
  Leg legs_ = 0;
  Node first_group_ = 0;
  Node size_ = 0;
  std::vector<Node> seats_;  ///< of links, then of groups, as node_of()
  /// Of links and groups that are nodes: users_[begins_[index], begins_[index + 1]), flows and legs
  std::vector<std::uint32_t> begins_;
  std::vector<std::uint32_t> users_;
  std::vector<std::uint32_t> degrees_;  ///< flows, with legs'
  /// Of legs: flows_by_leg_[flows_begin_[leg], flows_begin_[leg + 1])
  std::vector<std::uint32_t> flows_begin_;
  std::vector<Node> flows_by_leg_;
  std::vector<std::uint32_t> links_of_leg_;  ///< how many of them are nodes
};

}  // namespace gradwire
