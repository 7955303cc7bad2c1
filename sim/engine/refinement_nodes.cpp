#include "sim/engine/refinement_nodes.hpp"

#include <algorithm>

namespace gradwire {

/// Only this way round: what a flow passes is read from the graph.
void RefinementNodes::index(const GraphPart& begin, const GraphPart& end) {
  begin_ = begin;
  kind_end_ = end.kind_begin;
  flows_ = end.flow_begin - begin.flow_begin;
  links_ = end.link_begin - begin.link_begin;
  legs_ = end.leg_begin - begin.leg_begin;
  count_users(end.group_begin - begin.group_begin);
  seat();
  join();
  links_of_leg_.assign(legs_, 0);
  for (Leg leg = 0; leg < legs_; ++leg) {
    visit_links_of(leg, [&](Node /*link*/) { ++links_of_leg_[leg]; });
  }
}

void RefinementNodes::count_users(std::uint32_t groups) {
  std::vector<std::uint32_t>& users = seats_;
  users.assign(links_ + groups, 0);
  flows_begin_.assign(legs_ + 1, 0);
  for (Node flow = 0; flow < flows_; ++flow) {
    visit_all_of(
        flow, [&](std::uint32_t index) { ++users[index]; },
        [&](Leg leg) { ++flows_begin_[leg + 1]; });
  }
  for (Leg leg = 0; leg < legs_; ++leg) {
    const std::uint32_t several = flows_begin_[leg + 1] > 1 ? several_flows : 0;
    for (const std::uint32_t link : graph_.links_of_leg(begin_.leg_begin + leg)) {
      std::uint32_t& of_link = users[link - begin_.link_begin];
      of_link = (of_link + 1) | several;
    }
    flows_begin_[leg + 1] += flows_begin_[leg];
  }
}

void RefinementNodes::seat() {
  begins_.assign(1, 0);
  size_ = flows_;
  const auto seat_one = [this](Node& seat) {
    begins_.push_back(begins_.back() + (seat & ~several_flows));
    seat = size_++;
  };
  const auto first_of_groups = seats_.begin() + static_cast<std::ptrdiff_t>(links_);
  std::for_each(seats_.begin(), first_of_groups, [&](Node& seat) {
    if (seat > 1) return seat_one(seat);
    seat = 0;  // join() finds its flow
  });
  first_group_ = size_;
  std::for_each(first_of_groups, seats_.end(), seat_one);
}

void RefinementNodes::join() {
  users_.resize(begins_.back());
  degrees_.assign(size_ - flows_, 0);
  flows_by_leg_.resize(flows_begin_.back());
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
  std::vector<std::uint32_t> next_of_leg(flows_begin_.begin(), flows_begin_.end() - 1);
  const auto note = [&](std::uint32_t index, std::uint32_t user, Node flow, std::uint32_t flows) {
    Node& seat = seats_[index];
    if (seat < flows_) {
      seat = flow;
      return;
    }
    users_[next[seat - flows_]++] = user;
    degrees_[seat - flows_] += flows;
  };
  for (Node flow = 0; flow < flows_; ++flow) {
    visit_all_of(
        flow, [&](std::uint32_t index) { note(index, flow, flow, 1); },
        [&](Leg leg) {
          if (next_of_leg[leg] == flows_begin_[leg]) {
            const std::uint32_t flows = flows_begin_[leg + 1] - flows_begin_[leg];
            for (const std::uint32_t link : graph_.links_of_leg(begin_.leg_begin + leg)) {
              note(link - begin_.link_begin, FlowGraph::first_leg + leg, flow, flows);
            }
          }
          flows_by_leg_[next_of_leg[leg]++] = flow;
        });
  }
}

std::uint32_t RefinementNodes::degree_of(Node node) const {
  if (node >= flows_) return degrees_[node - flows_];
  std::uint32_t degree = 0;
  visit_shared_by(
      node, [&](Node /*shared*/) { ++degree; }, [&](Leg leg) { degree += links_of_leg_[leg]; });
  return degree;
}

std::uint32_t RefinementNodes::colour_of(Node flow, PairIndex& pairs,
                                         std::vector<std::uint32_t>& alone) const {
  alone.clear();
  const auto take_alone = [&](std::uint32_t link) {
    if (seats_[link - begin_.link_begin] < flows_) alone.push_back(graph_.capacity[link]);
  };
  graph_.visit_path(begin_.flow_begin + flow, take_alone, [&](std::uint32_t leg) {
    if (!has_one_flow(leg - begin_.leg_begin)) return;  // all its links are nodes
    std::ranges::for_each(graph_.links_of_leg(leg), take_alone);
  });
  std::ranges::sort(alone);
  std::uint32_t colour = graph_.kind[begin_.flow_begin + flow] - begin_.kind_begin;
  for (const std::uint32_t capacity : alone) colour = pairs.of(colour, capacity);
  return colour;
}

}  // namespace gradwire
