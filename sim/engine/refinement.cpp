#include "sim/engine/refinement.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "sim/core/parallel.hpp"
#include "sim/engine/pair_index.hpp"
#include "sim/engine/refinement_nodes.hpp"

namespace gradwire {
namespace {

using Node = RefinementNodes::Node;
using ClassId = std::uint32_t;

/// Nodes are met in no order, and wait for memory unless asked for so many before.
constexpr std::size_t nodes_ahead = 12;
/// Parts of fewer flows in all take no longer than threads take to begin: some 50 us.
constexpr std::size_t shared_flows = 4096;
/// So many are gathered before they are counted: they stay in the first cache.
constexpr std::size_t met_most = 4096;

class Refiner {
 public:
  explicit Refiner(const FlowGraph& graph) : nodes_(graph) {}
  /// What a part needs of memory is used again for the next.
  [[nodiscard]] Partition run(const GraphPart& begin, const GraphPart& end);

 private:
  /// Gathers a node's neighbours, and counts its legs. @param soon  one of its class that is met
  /// soon.
  void meet(Node member, Node soon);
  void sort_by_kind_and_capacity();
  void split_by_degree();
  void stack_all_but_largest();
  [[nodiscard]] Partition classes() const;
  /// Appends the classes of the nodes from `first` to `last`, numbered in order of appearance from
  /// `numbered` on, which then counts them, too.
  void read(Node first, Node last, std::vector<std::uint32_t>& out, std::uint32_t& numbered) const;
  /// The same of all links.
  void read_links(std::vector<std::uint32_t>& out, std::uint32_t& numbered) const;

  /// Its members stand side by side in order_.
  struct Class {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    bool waits = false;
    // While one splitter is processed: members it touches, and the range of their counts.
    std::uint32_t hits = 0;
    std::uint32_t moved = 0;
    std::uint32_t low = 0;
    std::uint32_t high = 0;

    [[nodiscard]] bool splits() const { return hits != size || low != high; }
  };

  /// What is known of a node, side by side: nodes are met in no order.
  struct State {
    std::uint32_t count = 0;  ///< neighbours in the splitter that is processed
    ClassId in = 0;
    std::uint32_t position = 0;  ///< in order_
  };

  /// Makes a class of each colour, which stands in State::in.
  void sort_by_colour(std::uint32_t colours);
  void split_by(ClassId splitter);
  void count_met();
  /// Counts the nodes at the other end of the legs that were met. @param of_flows  met by flows.
  void count_over_legs(bool of_flows);
  /// @param times  how often it is a neighbour.
  void count(Node node, std::uint32_t times) {
    if (states_[node].count == 0) touched_.push_back(node);
    states_[node].count += times;
  }
  void split_by_counts();
  void count_hits();
  void move_to_tail(Node node);
  void carve(ClassId id);
  void stack(ClassId id);

  RefinementNodes nodes_;
  std::vector<Node> order_;
  std::vector<State> states_;
  std::vector<Class> classes_;
  std::vector<ClassId> stack_;
  std::vector<Node> met_;  // neighbours of the splitter, each as often as it has some there
  std::vector<std::uint32_t> leg_counts_;  // of the splitter's members, by leg
  std::vector<RefinementNodes::Leg> legs_met_;
  std::vector<Node> touched_;
  std::vector<ClassId> hit_classes_;
  std::vector<std::pair<std::uint32_t, Node>> by_count_;
};

Partition Refiner::run(const GraphPart& begin, const GraphPart& end) {
  nodes_.index(begin, end);
  leg_counts_.assign(nodes_.legs(), 0);
  sort_by_kind_and_capacity();
  split_by_degree();
  stack_all_but_largest();
  while (!stack_.empty()) {
    const ClassId splitter = stack_.back();
    stack_.pop_back();
    classes_[splitter].waits = false;
    split_by(splitter);
  }
  return classes();
}

void Refiner::sort_by_kind_and_capacity() {
  states_.resize(nodes_.size());
  sort_by_colour(
      nodes_.colour([this](Node node, std::uint32_t colour) { states_[node].in = colour; }));
}

void Refiner::split_by_degree() {
  for (const Class& whole : classes_) {
    const auto members = std::span(order_).subspan(whole.begin, whole.size);
    if (members.empty()) continue;
    const std::uint32_t degree = nodes_.degree_of(members.front());
    if (std::ranges::all_of(members, [&](Node node) { return nodes_.degree_of(node) == degree; })) {
      continue;
    }
    for (const Node node : members) states_[node].count = nodes_.degree_of(node);
    touched_.insert(touched_.end(), members.begin(), members.end());
  }
  split_by_counts();
}

/// Of the classes of flows, and of those of links and groups, one need not be looked at: degrees
/// are equal within a class, so that counts towards it follow from those towards the others. It is
/// the one with most neighbours to count; the others wait with the fewest on top of the stack,
/// since what is split before its turn is counted once. Nor need all groups together, where every
/// flow is in one.
void Refiner::stack_all_but_largest() {
  const auto first_of = [this](ClassId id) { return order_[classes_[id].begin]; };
  const auto neighbours = [&](ClassId id) {
    return classes_[id].size * nodes_.degree_of(first_of(id));
  };
  const std::uint32_t groups = nodes_.size() - nodes_.first_group();
  const bool all_grouped = nodes_.all_grouped();
  stack_.clear();
  for (ClassId id = 0; id < classes_.size(); ++id) {
    classes_[id].waits = false;
    const std::uint32_t size = classes_[id].size;
    if (size == 0 || (all_grouped && first_of(id) >= nodes_.first_group() && size == groups))
      continue;
    stack_.push_back(id);
  }
  std::stable_sort(stack_.begin(), stack_.end(),
                   [&](ClassId a, ClassId b) { return neighbours(a) > neighbours(b); });
  for (const bool of_flows : {true, false}) {
    const auto largest = std::ranges::find_if(
        stack_, [&](ClassId id) { return (first_of(id) < nodes_.flows()) == of_flows; });
    if (largest != stack_.end()) stack_.erase(largest);  // perhaps no link is a node
  }
  for (const ClassId id : stack_) classes_[id].waits = true;
}

void Refiner::sort_by_colour(std::uint32_t colours) {
  classes_.assign(colours, {});
  for (const State& state : states_) ++classes_[state.in].size;
  std::uint32_t begin = 0;
  std::vector<std::uint32_t> next(colours);
  for (ClassId id = 0; id < colours; ++id) {
    classes_[id].begin = next[id] = begin;
    begin += classes_[id].size;
  }
  order_.resize(nodes_.size());
  for (Node node = 0; node < nodes_.size(); ++node) {
    State& state = states_[node];
    state.count = 0;
    state.position = next[state.in]++;
    order_[state.position] = node;
  }
}

void Refiner::split_by(ClassId splitter) {
  const Class whole = classes_[splitter];
  const auto members = std::span(order_).subspan(whole.begin, whole.size);
  for (std::size_t i = 0; i < members.size(); ++i) {
    meet(members[i], members[std::min(i + nodes_ahead, members.size() - 1)]);
    if (met_.size() >= met_most) count_met();
  }
  count_met();
  count_over_legs(members.front() < nodes_.flows());
  split_by_counts();
}

void Refiner::meet(Node member, Node soon) {
  nodes_.fetch(soon);
  nodes_.visit_neighbours(
      member, [this](Node beside) { met_.push_back(beside); },
      [this](RefinementNodes::Leg leg) {
        if (leg_counts_[leg]++ == 0) legs_met_.push_back(leg);
      });
}

void Refiner::count_met() {
  for (std::size_t i = 0; i < met_.size(); ++i) {
    if (i + nodes_ahead < met_.size()) __builtin_prefetch(&states_[met_[i + nodes_ahead]]);
    count(met_[i], 1);
  }
  met_.clear();
}

void Refiner::count_over_legs(bool of_flows) {
  for (const RefinementNodes::Leg leg : legs_met_) {
    const std::uint32_t times = std::exchange(leg_counts_[leg], 0);
    if (of_flows) {
      nodes_.visit_links_of(leg, [&](Node link) { count(link, times); });
      continue;
    }
    const auto flows = nodes_.flows_of(leg);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (i + nodes_ahead < flows.size()) __builtin_prefetch(&states_[flows[i + nodes_ahead]]);
      count(flows[i], times);
    }
  }
  legs_met_.clear();
}

/// Splits the classes of the touched nodes by their counts, and forgets these.
void Refiner::split_by_counts() {
  count_hits();
  if (std::any_of(hit_classes_.begin(), hit_classes_.end(),
                  [this](ClassId id) { return classes_[id].splits(); })) {
    for (const Node node : touched_) {
      if (classes_[states_[node].in].splits()) move_to_tail(node);
    }
  }
  for (const ClassId id : hit_classes_) {
    if (classes_[id].splits()) carve(id);
    Class& left = classes_[id];
    left.hits = left.moved = 0;
  }
  for (const Node node : touched_) states_[node].count = 0;
  touched_.clear();
  hit_classes_.clear();
}

void Refiner::count_hits() {
  for (const Node node : touched_) {
    Class& hit = classes_[states_[node].in];
    if (hit.hits++ == 0) {
      hit_classes_.push_back(states_[node].in);
      hit.low = hit.high = states_[node].count;
    } else {
      hit.low = std::min(hit.low, states_[node].count);
      hit.high = std::max(hit.high, states_[node].count);
    }
  }
}

void Refiner::move_to_tail(Node node) {
  Class& home = classes_[states_[node].in];
  const std::uint32_t target = home.begin + home.size - 1 - home.moved++;
  const Node other = order_[target];
  std::swap(order_[states_[node].position], order_[target]);
  std::swap(states_[node].position, states_[other].position);
}

/// The members that were not touched keep the class; of the touched ones, each count becomes one.
void Refiner::carve(ClassId id) {
  const Class whole = classes_[id];
  const std::uint32_t end = whole.begin + whole.size;
  std::uint32_t begin = end - whole.hits;
  if (whole.low != whole.high) {
    by_count_.clear();
    for (std::uint32_t i = begin; i < end; ++i) {
      by_count_.emplace_back(states_[order_[i]].count, order_[i]);
    }
    std::sort(by_count_.begin(), by_count_.end());
    for (std::uint32_t i = begin; i < end; ++i) order_[i] = by_count_[i - begin].second;
  }
  const auto run_end = [&](std::uint32_t from) {
    std::uint32_t to = from + 1;
    while (to < end && states_[order_[to]].count == states_[order_[from]].count) ++to;
    return to;
  };
  for (std::uint32_t i = begin; i < end; ++i) states_[order_[i]].position = i;
  if (begin == whole.begin) begin = run_end(begin);
  classes_[id].size = begin - whole.begin;
  ClassId largest = id;
  const auto first_new = static_cast<ClassId>(classes_.size());
  while (begin < end) {
    const std::uint32_t next = run_end(begin);
    const auto part = static_cast<ClassId>(classes_.size());
    classes_.push_back({.begin = begin, .size = next - begin, .waits = false});
    for (; begin < next; ++begin) states_[order_[begin]].in = part;
    if (classes_[part].size > classes_[largest].size) largest = part;
  }
  // Counts towards the whole were or will be known: the largest part follows from the others.
  if (!whole.waits && largest != id) stack(id);
  for (ClassId part = first_new; part < classes_.size(); ++part) {
    if (whole.waits || part != largest) stack(part);
  }
}

void Refiner::stack(ClassId id) {
  classes_[id].waits = true;
  stack_.push_back(id);
}

void Refiner::read(Node first, Node last, std::vector<std::uint32_t>& out,
                   std::uint32_t& numbered) const {
  std::vector<std::uint32_t> number(classes_.size(), FlowGraph::no_group);
  for (Node node = first; node < last; ++node) {
    std::uint32_t& name = number[states_[node].in];
    if (name == FlowGraph::no_group) name = numbered++;
    out.push_back(name);
  }
}

void Refiner::read_links(std::vector<std::uint32_t>& out, std::uint32_t& numbered) const {
  std::vector<std::uint32_t> number(classes_.size(), FlowGraph::no_group);
  PairIndex alone;  // (class of the flow, capacity)
  std::vector<std::uint32_t> number_alone;
  for (std::uint32_t link = 0; link < nodes_.links(); ++link) {
    const Node node = nodes_.node_of(link);
    const ClassId in = states_[node].in;
    std::uint32_t* name = &number[in];
    if (node < nodes_.flows()) {
      const auto pair = alone.of(in, nodes_.capacity_of(link));
      if (pair == number_alone.size()) number_alone.push_back(FlowGraph::no_group);
      name = &number_alone[pair];
    }
    if (*name == FlowGraph::no_group) *name = numbered++;
    out.push_back(*name);
  }
}

Partition Refiner::classes() const {
  Partition result;
  result.flow_class.reserve(nodes_.flows());
  result.link_class.reserve(nodes_.links());
  read(0, nodes_.flows(), result.flow_class, result.flow_classes);
  read_links(result.link_class, result.link_classes);
  read(nodes_.first_group(), nodes_.size(), result.group_class, result.group_classes);
  return result;
}

/// Those of all parts, one after the other: they have no class in common.
Partition joined(std::vector<Partition> parts) {
  Partition result = std::move(parts.front());
  const auto append = [](const std::vector<std::uint32_t>& from, std::uint32_t classes,
                         std::vector<std::uint32_t>& to, std::uint32_t& before) {
    for (const std::uint32_t id : from) to.push_back(before + id);
    before += classes;
  };
  for (Partition& part : std::span(parts).subspan(1)) {
    append(part.flow_class, part.flow_classes, result.flow_class, result.flow_classes);
    append(part.link_class, part.link_classes, result.link_class, result.link_classes);
    append(part.group_class, part.group_classes, result.group_class, result.group_classes);
    part = {};
  }
  return result;
}

}  // namespace

Partition refine(const FlowGraph& graph) {
  if (graph.parts.empty()) return {};
  std::vector<Partition> parts(graph.parts.size());
  in_parts(parts.size(), graph.flow_count() < shared_flows ? parts.size() + 1 : 2,
           [&](std::size_t begin, std::size_t end) {
             Refiner refiner(graph);  // its memory is used again for the next part
             for (; begin < end; ++begin) {
               parts[begin] =
                   refiner.run(graph.parts[begin],
                               begin + 1 < parts.size() ? graph.parts[begin + 1] : graph.end());
             }
           });
  return joined(std::move(parts));
}

Partition no_merging(const FlowGraph& graph) {
  const auto count_up = [](std::size_t size, std::vector<std::uint32_t>& out) {
    out.resize(size);
    std::iota(out.begin(), out.end(), 0U);
    return static_cast<std::uint32_t>(size);
  };
  Partition result;
  result.flow_classes = count_up(graph.flow_count(), result.flow_class);
  result.link_classes = count_up(graph.capacity.size(), result.link_class);
  result.group_classes = count_up(graph.group_count, result.group_class);
  return result;
}

}  // namespace gradwire
