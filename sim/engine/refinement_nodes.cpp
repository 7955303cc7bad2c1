#include "sim/engine/refinement_nodes.hpp"

#include <algorithm>

namespace gradwire {

/// Only this way round: what a flow passes is read from the graph.
void RefinementNodes::index(const GraphPart& begin, const GraphPart& end) {
  begin_ = begin;
  kind_end_ = end.kind_begin;
  flows_ = end.flow_begin - begin.flow_begin;
  links_ = end.link_begin - begin.link_begin;
  seat(end.group_begin - begin.group_begin);
  flows_by_shared_.resize(begins_.back());
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
  for (Node flow = 0; flow < flows_; ++flow) {
    visit_all_of(flow, [&](std::uint32_t index) {
      Node& seat = seats_[index];
      if (seat < flows_) {
        seat = flow;
      } else {
        flows_by_shared_[next[seat - flows_]++] = flow;
      }
    });
  }
}

void RefinementNodes::seat(std::uint32_t groups) {
  std::vector<std::uint32_t>& uses = seats_;
  uses.assign(links_ + groups, 0);
  for (Node flow = 0; flow < flows_; ++flow) {
    visit_all_of(flow, [&uses](std::uint32_t index) { ++uses[index]; });
  }
  begins_.assign(1, 0);
  size_ = flows_;
  const auto seat_one = [this](Node& seat) {
    begins_.push_back(begins_.back() + seat);
    seat = size_++;
  };
  const auto first_of_groups = seats_.begin() + static_cast<std::ptrdiff_t>(links_);
  std::for_each(seats_.begin(), first_of_groups, [&](Node& seat) {
    if (seat > 1) return seat_one(seat);
    seat = 0;  // index() finds its flow
  });
  first_group_ = size_;
  std::for_each(first_of_groups, seats_.end(), seat_one);
}

std::uint32_t RefinementNodes::degree_of(Node node) const {
  if (node >= flows_) return begins_[node - flows_ + 1] - begins_[node - flows_];
  std::uint32_t degree = 0;
  visit_shared_by(node, [&degree](Node /*shared*/) { ++degree; });
  return degree;
}

std::uint32_t RefinementNodes::colour_of(Node flow, PairIndex& pairs,
                                         std::vector<std::uint32_t>& alone) const {
  alone.clear();
  for (const std::uint32_t link : graph_.links_of(begin_.flow_begin + flow)) {
    if (seats_[link - begin_.link_begin] < flows_) alone.push_back(graph_.capacity[link]);
  }
  std::ranges::sort(alone);
  std::uint32_t colour = graph_.kind[begin_.flow_begin + flow] - begin_.kind_begin;
  for (const std::uint32_t capacity : alone) colour = pairs.of(colour, capacity);
  return colour;
}

}  // namespace gradwire
