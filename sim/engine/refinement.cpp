#include "sim/engine/refinement.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>

namespace gradwire {
namespace {

using Node = std::uint32_t;
using ClassId = std::uint32_t;

/// Of a part's nodes, its flows come first, then its links, then its groups.
class Refiner {
 public:
  explicit Refiner(const FlowGraph& graph) : graph_(graph) {}
  /// A part after the other: what they need of memory is used again.
  void run(const GraphPart& begin, const GraphPart& end);
  void add_to(Partition& result) const;

 private:
  [[nodiscard]] Node first_group() const { return flows_ + links_; }
  void index_users();
  void sort_by_kind_and_capacity();
  /// Appends the classes of the nodes from `first` to `last`, numbered in order of appearance from
  /// `numbered` on, which then counts them, too.
  void read(Node first, Node last, std::vector<std::uint32_t>& out, std::uint32_t& numbered) const;

  /// Its members stand side by side in order_.
  struct Class {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    bool queued = true;
    // While one splitter is processed: members it touches, and the range of their counts.
    std::uint32_t hits = 0;
    std::uint32_t moved = 0;
    std::uint32_t low = 0;
    std::uint32_t high = 0;

    [[nodiscard]] bool splits() const { return hits != size || low != high; }
  };

  void sort_by(const std::vector<std::uint32_t>& colour, std::uint32_t colours);
  void split_by(ClassId splitter);
  void count_hits();
  void move_to_tail(Node node);
  void carve(ClassId id);
  void queue(ClassId id);

  template <class Visit>
  void for_neighbours(Node node, Visit visit) const {
    if (node < flows_) {
      const std::size_t flow = begin_.flow_begin + node;
      for (const std::uint32_t link : graph_.links_of(flow)) {
        visit(flows_ + (link - begin_.link_begin));
      }
      const std::uint32_t group = graph_.group[flow];
      if (group != FlowGraph::no_group) visit(first_group() + (group - begin_.group_begin));
    } else {
      const std::size_t shared = node - flows_;
      for (std::size_t i = users_begin_[shared]; i < users_begin_[shared + 1]; ++i) {
        visit(users_[i]);
      }
    }
  }

  const FlowGraph& graph_;
  GraphPart begin_{};
  GraphPart end_{};
  Node flows_ = 0;
  Node links_ = 0;
  Node nodes_ = 0;
  std::vector<std::uint32_t> users_begin_;  // link or group -> its flows in users_
  std::vector<Node> users_;
  std::vector<Node> order_;
  std::vector<std::uint32_t> position_;
  std::vector<ClassId> class_of_;
  std::vector<Class> classes_;
  std::vector<ClassId> queue_;
  std::vector<std::uint32_t> count_;
  std::vector<Node> touched_;
  std::vector<ClassId> hit_classes_;
};

void Refiner::run(const GraphPart& begin, const GraphPart& end) {
  begin_ = begin;
  end_ = end;
  flows_ = end.flow_begin - begin.flow_begin;
  links_ = end.link_begin - begin.link_begin;
  nodes_ = flows_ + links_ + (end.group_begin - begin.group_begin);
  count_.assign(nodes_, 0);
  index_users();
  sort_by_kind_and_capacity();
  std::size_t done = 0;
  while (done < queue_.size()) {  // it grows
    const ClassId splitter = queue_[done++];
    classes_[splitter].queued = false;
    split_by(splitter);
  }
}

void Refiner::sort_by_kind_and_capacity() {
  std::vector<std::uint32_t> colour(nodes_);
  for (Node flow = 0; flow < flows_; ++flow) {
    colour[flow] = graph_.kind[begin_.flow_begin + flow] - begin_.kind_begin;
  }
  std::uint32_t colours = end_.kind_begin - begin_.kind_begin;
  std::map<double, std::uint32_t> by_capacity;
  for (Node link = 0; link < links_; ++link) {
    const double capacity = graph_.capacity[begin_.link_begin + link];
    const auto [found, is_new] = by_capacity.try_emplace(capacity, colours);
    if (is_new) ++colours;
    colour[flows_ + link] = found->second;
  }
  std::fill(colour.begin() + first_group(), colour.end(), colours);
  sort_by(colour, colours + (first_group() < nodes_ ? 1 : 0));
}

void Refiner::index_users() {
  users_begin_.assign(nodes_ - flows_ + 1, 0);
  for (Node flow = 0; flow < flows_; ++flow) {
    for_neighbours(flow, [&](Node shared) { ++users_begin_[shared - flows_ + 1]; });
  }
  std::partial_sum(users_begin_.begin(), users_begin_.end(), users_begin_.begin());
  users_.resize(users_begin_.back());
  std::vector<std::uint32_t> next(users_begin_.begin(), users_begin_.end() - 1);
  for (Node flow = 0; flow < flows_; ++flow) {
    for_neighbours(flow, [&](Node shared) { users_[next[shared - flows_]++] = flow; });
  }
}

void Refiner::sort_by(const std::vector<std::uint32_t>& colour, std::uint32_t colours) {
  classes_.assign(colours, {});
  queue_.clear();
  for (const std::uint32_t c : colour) ++classes_[c].size;
  std::uint32_t begin = 0;
  std::vector<std::uint32_t> next(colours);
  for (ClassId id = 0; id < colours; ++id) {
    classes_[id].begin = next[id] = begin;
    begin += classes_[id].size;
    queue_.push_back(id);
  }
  class_of_ = colour;
  order_.resize(nodes_);
  position_.resize(nodes_);
  for (Node node = 0; node < nodes_; ++node) {
    position_[node] = next[colour[node]]++;
    order_[position_[node]] = node;
  }
}

void Refiner::split_by(ClassId splitter) {
  const Class members = classes_[splitter];
  for (std::uint32_t i = members.begin; i < members.begin + members.size; ++i) {
    for_neighbours(order_[i], [&](Node node) {
      if (count_[node]++ == 0) touched_.push_back(node);
    });
  }
  count_hits();
  for (const Node node : touched_) {
    if (classes_[class_of_[node]].splits()) move_to_tail(node);
  }
  for (const ClassId id : hit_classes_) {
    if (classes_[id].splits()) carve(id);
    Class& left = classes_[id];
    left.hits = left.moved = 0;
  }
  for (const Node node : touched_) count_[node] = 0;
  touched_.clear();
  hit_classes_.clear();
}

void Refiner::count_hits() {
  for (const Node node : touched_) {
    Class& hit = classes_[class_of_[node]];
    if (hit.hits++ == 0) {
      hit_classes_.push_back(class_of_[node]);
      hit.low = hit.high = count_[node];
    } else {
      hit.low = std::min(hit.low, count_[node]);
      hit.high = std::max(hit.high, count_[node]);
    }
  }
}

void Refiner::move_to_tail(Node node) {
  Class& home = classes_[class_of_[node]];
  const std::uint32_t target = home.begin + home.size - 1 - home.moved++;
  const Node other = order_[target];
  std::swap(order_[position_[node]], order_[target]);
  std::swap(position_[node], position_[other]);
}

/// The members that were not touched keep the class; of the touched ones, each count becomes one.
void Refiner::carve(ClassId id) {
  const Class whole = classes_[id];
  const std::uint32_t end = whole.begin + whole.size;
  std::uint32_t begin = end - whole.hits;
  if (whole.low != whole.high) {
    std::sort(order_.begin() + begin, order_.begin() + end,
              [this](Node a, Node b) { return count_[a] < count_[b]; });
  }
  const auto run_end = [&](std::uint32_t from) {
    std::uint32_t to = from + 1;
    while (to < end && count_[order_[to]] == count_[order_[from]]) ++to;
    return to;
  };
  for (std::uint32_t i = begin; i < end; ++i) position_[order_[i]] = i;
  if (begin == whole.begin) begin = run_end(begin);
  classes_[id].size = begin - whole.begin;
  ClassId largest = id;
  const auto first_new = static_cast<ClassId>(classes_.size());
  while (begin < end) {
    const std::uint32_t next = run_end(begin);
    const auto part = static_cast<ClassId>(classes_.size());
    classes_.push_back({.begin = begin, .size = next - begin, .queued = false});
    for (; begin < next; ++begin) class_of_[order_[begin]] = part;
    if (classes_[part].size > classes_[largest].size) largest = part;
  }
  // Counts towards the whole were or will be known: the largest part follows from the others.
  if (!whole.queued && largest != id) queue(id);
  for (ClassId part = first_new; part < classes_.size(); ++part) {
    if (whole.queued || part != largest) queue(part);
  }
}

void Refiner::queue(ClassId id) {
  classes_[id].queued = true;
  queue_.push_back(id);
}

void Refiner::read(Node first, Node last, std::vector<std::uint32_t>& out,
                   std::uint32_t& numbered) const {
  std::vector<std::uint32_t> number(classes_.size(), FlowGraph::no_group);
  for (Node node = first; node < last; ++node) {
    std::uint32_t& name = number[class_of_[node]];
    if (name == FlowGraph::no_group) name = numbered++;
    out.push_back(name);
  }
}

void Refiner::add_to(Partition& result) const {
  read(0, flows_, result.flow_class, result.flow_classes);
  read(flows_, first_group(), result.link_class, result.link_classes);
  read(first_group(), nodes_, result.group_class, result.group_classes);
}

}  // namespace

Partition refine(const FlowGraph& graph) {
  Refiner refiner(graph);
  Partition result;
  result.flow_class.reserve(graph.flow_count());
  result.link_class.reserve(graph.capacity.size());
  result.group_class.reserve(graph.group_count);
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    refiner.run(graph.parts[i], i + 1 < graph.parts.size() ? graph.parts[i + 1] : graph.end());
    refiner.add_to(result);
  }
  return result;
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
