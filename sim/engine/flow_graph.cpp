#include "sim/engine/flow_graph.hpp"

#include <algorithm>
#include <array>
#include <boost/container_hash/hash.hpp>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/core/index.hpp"
#include "sim/engine/link_types.hpp"
#include "sim/engine/pair_index.hpp"

namespace gradwire {
namespace {

std::span<const LinkId> path_of(const Pattern& pattern, const PatternFlow& flow) {
  return std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size);
}

/// A leg up to the sender's port, one from there to the receiver's, and one from that on.
constexpr std::uint32_t legs_most = 3;

/// Messages of many pairs: what one rank sends, or one receives, passes the same links at its end.
/// Of rings and trees hardly two flows have any leg in common.
bool has_legs(const Phase& phase) {
  return phase.coupling == Coupling::independent;
}

bool forwards(const Phase& phase) {
  return forwards_messages(phase.coupling, phase.steps);
}

class Builder {
 public:
  Builder(ClusterLinks links, std::span<const Pattern> patterns, bool separate_phases,
          const std::function<void(int pattern)>& read)
      : links_(links),
        separate_phases_(separate_phases),
        seats_(links.size(), unused),
        types_(link_types(links)),
        type_capacity_(types_.size(), unused) {
    reserve(patterns);
    graph_.path_begin.push_back(0);
    graph_.pattern_count = static_cast<int>(patterns.size());
    for (int p = 0; p < graph_.pattern_count; ++p) {
      add_pattern(p, patterns[static_cast<std::size_t>(p)]);
      if (read) read(p);
    }
    graph_.link_id.shrink_to_fit();
    graph_.capacity.shrink_to_fit();
  }

  FlowGraph take() { return std::move(graph_); }

 private:
  static constexpr std::uint32_t unused = FlowGraph::no_group;
  /// Pairs of ranks with so many connections each.
  struct Connections {
    int of_pair = 0;
    PairIndex pairs{};                   ///< (source, destination)
    std::vector<std::uint32_t> links{};  ///< by number of the pair
  };
  /// Those of the present part.
  struct Legs {
    PairIndex ends{};                    ///< (first link, last link)
    std::vector<std::uint32_t> first{};  ///< by number of the ends, of those that have them
    std::vector<std::uint32_t> next{};   ///< by leg, of those with the same ends; or `unused`
  };
  using KindKey = std::tuple<double, std::int64_t, Hop, double, std::uint32_t>;

  void reserve(std::span<const Pattern> patterns) {
    std::size_t phases = 0;
    std::size_t flows = 0;
    std::size_t path = 0;
    std::size_t coupled = 0;  // up to the last of such flows
    std::size_t pipelined = 0;
    for (const Pattern& pattern : patterns) {
      phases += pattern.phases.size();
      for (const Phase& phase : pattern.phases) {
        flows += phase.flows.size();
        if (phase.coupling != Coupling::independent) coupled = flows;
        if (phase.coupling == Coupling::pipeline) pipelined = flows + 1;
        const std::uint32_t most =
            has_legs(phase) ? legs_most : std::numeric_limits<std::uint32_t>::max();
        for (const PatternFlow& flow : phase.flows) path += std::min(flow.path_size, most);
        if (pattern.connections > 0) path += phase.flows.size();  // and what their pairs share
      }
    }
    graph_.phases.reserve(phases);
    graph_.kind.reserve(flows);
    graph_.group.reserve(coupled);
    graph_.path.reserve(path);
    graph_.path_begin.reserve(flows + 1);
    graph_.before_begin.reserve(pipelined);
  }

  void add_pattern(int id, const Pattern& pattern) {
    const auto is_same = [&](const PatternFlow& a, const PatternFlow& b) {
      return a.source == b.source && a.destination == b.destination && a.share == b.share &&
             a.group == b.group && std::ranges::equal(path_of(pattern, a), path_of(pattern, b));
    };
    std::vector<const Phase*> added;
    const std::size_t first = graph_.phases.size();
    for (const Phase& phase : pattern.phases) {
      if (phase.flows.empty()) continue;
      assert(phase.steps >= 1);
      const auto same = std::ranges::find_if(added, [&](const Phase* other) {
        return other->coupling == phase.coupling && forwards(*other) == forwards(phase) &&
               std::ranges::equal(other->flows, phase.flows, is_same);
      });
      if (same == added.end()) {
        add_phase(id, pattern, phase);
      } else {
        graph_.phases.push_back(
            graph_.phases[first + static_cast<std::size_t>(same - added.begin())]);
        graph_.phases.back().steps = phase.steps;
      }
      added.push_back(&phase);
    }
  }

  void add_phase(int pattern_id, const Pattern& pattern, const Phase& phase) {
    if (separate_phases_ || graph_.parts.empty()) graph_.parts.push_back(graph_.end());
    kind_index_.clear();
    group_index_.clear();
    last_group_ = {};
    arrival_before_.clear();
    if (separate_phases_) {
      for (; first_link_ < graph_.link_id.size(); ++first_link_) {
        const LinkId id = graph_.link_id[first_link_];
        if (id != FlowGraph::no_link) seats_[at(id)] = unused;
      }
      connections_.clear();
      legs_ = {};
    }
    const auto begin = static_cast<std::uint32_t>(graph_.flow_count());
    const auto size = static_cast<std::uint32_t>(phase.flows.size());
    graph_.phases.push_back({pattern_id, begin, begin + size, phase.steps, phase.coupling});
    first_flow_ = group_begin_ = begin;
    const bool is_coupled = phase.coupling != Coupling::independent;
    const bool is_pipeline = phase.coupling == Coupling::pipeline;
    if (is_coupled) graph_.group.resize(begin, FlowGraph::no_group);
    if (is_pipeline) {
      graph_.before_begin.resize(begin + 1, static_cast<std::uint32_t>(graph_.before.size()));
    }
    for (const PatternFlow& flow : phase.flows) {
      if (is_coupled) graph_.group.push_back(group_of(flow.group));
      if (is_pipeline) {
        await_arrivals(flow);
        graph_.before_begin.push_back(static_cast<std::uint32_t>(graph_.before.size()));
      }
      add_flow(pattern, flow, phase);
    }
  }

  /// Notes what the flow that is added waits for: those of its group that arrived where it begins.
  void await_arrivals(const PatternFlow& flow) {
    const auto id = static_cast<std::uint32_t>(graph_.flow_count());
    const auto source = static_cast<std::size_t>(flow.source);
    const auto destination = static_cast<std::size_t>(flow.destination);
    if (graph_.group[id] != graph_.group[group_begin_]) group_begin_ = id;
    assert(graph_.group[id] + 1 == graph_.group_count && "a pipeline's groups do not interleave");
    last_arrival_.resize(std::max({last_arrival_.size(), source + 1, destination + 1}), unused);
    const auto in_group = [&](std::uint32_t f) { return f != unused && f >= group_begin_; };
    for (std::uint32_t f = last_arrival_[source]; in_group(f);
         f = arrival_before_[f - first_flow_]) {
      graph_.before.push_back(f);
    }
    arrival_before_.push_back(std::exchange(last_arrival_[destination], id));
  }

  /// How many flows come before the one that is added, one after the other.
  [[nodiscard]] std::uint32_t round() const {
    std::uint32_t longest = 0;
    for (const std::uint32_t awaited : graph_.awaited_by(graph_.flow_count())) {
      longest = std::max(longest, graph_.kinds[graph_.kind[awaited]].round + 1);
    }
    return longest;
  }

  /// What stands for a rank of the group that is added, in which whole messages are sent on.
  std::uint32_t sender(int rank) {
    const std::uint32_t group = graph_.group.back();
    if (group != senders_of_) {
      senders_.clear();
      senders_of_ = group;
    }
    const auto [found, is_new] = senders_.try_emplace(rank, 0);
    if (is_new) {
      constexpr double infinite = std::numeric_limits<double>::infinity();
      found->second = add_link(FlowGraph::no_link, capacity_of(infinite));
    }
    return found->second;
  }

  void add_flow(const Pattern& pattern, const PatternFlow& flow, const Phase& of) {
    const auto path = path_of(pattern, flow);
    const bool forwarded = forwards(of);
    seated_.clear();
    const int connections = pattern.connections;
    assert(!path.empty() && flow.share > 0 && connections >= 0);
    double latency = 0;
    double ceiling = std::numeric_limits<double>::infinity();
    Hop hop = Hop::nvlink;
    for (const LinkId id : path) {
      const LinkType& link = types_[links_.type_of(at(id))];
      latency += link.latency;
      hop = std::max(hop, link.hop);
      ceiling = std::min(ceiling, link.ceiling(connections));
      seated_.push_back(seat_of(id));
    }
    if (has_legs(of)) {
      add_legs(path);
    } else {
      graph_.path.insert(graph_.path.end(), seated_.begin(), seated_.end());
    }
    if (connections > 0 && std::isfinite(ceiling)) {
      graph_.path.push_back(connection(flow, connections, ceiling));
    }
    if (forwarded) {
      graph_.path.push_back(sender(flow.source));
      graph_.path.push_back(sender(flow.destination));
    }
    graph_.path_begin.push_back(static_cast<std::uint32_t>(graph_.path.size()));
    const auto phase = static_cast<std::uint32_t>(graph_.phases.size() - 1);
    graph_.kind.push_back(
        kind_of({phase, flow.share, latency, hop, ceiling, forwarded ? round() : 0}));
  }

  /// Appends the legs of the flow that is added, whose links are seated. @param path  the same.
  void add_legs(std::span<const LinkId> path) {
    const auto is_port = [&](LinkId id) {
      return types_[links_.type_of(at(id))].hop == Hop::network;
    };
    const std::span links(seated_);
    const auto first = std::ranges::find_if(path, is_port);
    if (first == path.end()) return add_leg(links);
    const auto last = std::find_if(path.rbegin(), path.rend(), is_port).base();
    const auto sent = static_cast<std::size_t>(first - path.begin()) + 1;
    const auto received = std::max(sent, static_cast<std::size_t>(last - path.begin()) - 1);
    add_leg(links.first(sent));
    add_leg(links.subspan(sent, received - sent));
    add_leg(links.subspan(received));
  }

  void add_leg(std::span<const std::uint32_t> links) {
    if (links.size() < 2) {  // the link itself takes no more
      graph_.path.insert(graph_.path.end(), links.begin(), links.end());
      return;
    }
    bool is_new = false;
    const auto ends = legs_.ends.of(links.front(), links.back(), is_new);
    if (is_new) legs_.first.push_back(unused);
    std::uint32_t leg = legs_.first[ends];
    while (leg != unused && !std::ranges::equal(graph_.links_of_leg(leg), links)) {
      leg = legs_.next[leg - graph_.parts.back().leg_begin];
    }
    if (leg == unused) {
      leg = static_cast<std::uint32_t>(graph_.leg_begin.size() - 1);
      legs_.next.push_back(std::exchange(legs_.first[ends], leg));
      graph_.leg_links.insert(graph_.leg_links.end(), links.begin(), links.end());
      graph_.leg_begin.push_back(static_cast<std::uint32_t>(graph_.leg_links.size()));
    }
    graph_.path.push_back(FlowGraph::first_leg + leg);
  }

  std::uint32_t kind_of(const FlowKind& kind) {
    for (const std::uint32_t recent : recent_kinds_) {
      if (recent < graph_.kinds.size() && graph_.kinds[recent] == kind) return recent;
    }
    const KindKey key{kind.share, femtoseconds(kind.latency), kind.hop, kind.ceiling, kind.round};
    const auto next = static_cast<std::uint32_t>(graph_.kinds.size());
    const auto [found, is_new] = kind_index_.try_emplace(key, next);
    if (is_new) graph_.kinds.push_back(kind);
    recent_kinds_ = {found->second, recent_kinds_.front()};
    return found->second;
  }

  /// The index of a link in the present part.
  std::uint32_t seat_of(LinkId id) {
    std::uint32_t& seat = seats_[at(id)];
    if (seat == unused) {
      std::uint32_t& capacity = type_capacity_[links_.type_of(at(id))];
      if (capacity == unused) capacity = capacity_of(links_[at(id)].capacity);
      seat = add_link(id, capacity);
    }
    return seat;
  }

  std::uint32_t capacity_of(double capacity) {
    assert(capacity > 0);
    const auto next = static_cast<std::uint32_t>(graph_.capacities.size());
    const auto [found, is_new] = capacity_index_.try_emplace(capacity, next);
    if (is_new) graph_.capacities.push_back(capacity);
    return found->second;
  }

  /// @return its index.
  std::uint32_t add_link(LinkId id, std::uint32_t capacity) {
    graph_.link_id.push_back(id);
    graph_.capacity.push_back(capacity);
    return static_cast<std::uint32_t>(graph_.link_id.size() - 1);
  }

  /// What the connections from one rank to another carry: a library that says how many it opens
  /// opens them once, for all its collectives.
  std::uint32_t connection(const PatternFlow& flow, int connections, double capacity) {
    auto opened = std::ranges::find(connections_, connections, &Connections::of_pair);
    if (opened == connections_.end()) {
      opened = connections_.insert(opened, {.of_pair = connections});
    }
    bool is_new = false;
    const auto number = opened->pairs.of(static_cast<PairIndex::Number>(flow.source),
                                         static_cast<PairIndex::Number>(flow.destination), is_new);
    if (is_new) opened->links.push_back(add_link(FlowGraph::no_link, capacity_of(capacity)));
    return opened->links[number];
  }

  std::uint32_t group_of(int group) {
    if (last_group_ && last_group_->first == group) return last_group_->second;
    const auto [found, is_new] = group_index_.try_emplace(group, graph_.group_count);
    if (is_new) ++graph_.group_count;
    last_group_ = *found;
    return found->second;
  }

  ClusterLinks links_;
  bool separate_phases_;
  std::vector<std::uint32_t> seats_;  ///< of each link of the cluster
  std::size_t first_link_ = 0;        ///< of this phase, when phases are separate
  std::uint32_t first_flow_ = 0;      ///< of this phase
  std::vector<LinkType> types_;
  std::vector<std::uint32_t> type_capacity_;  ///< of each type in use, as FlowGraph::capacity
  std::map<double, std::uint32_t> capacity_index_;
  std::unordered_map<KindKey, std::uint32_t, boost::hash<KindKey>> kind_index_;
  std::unordered_map<int, std::uint32_t> group_index_;
  // Flows stand by groups, and kinds return: what was found last is mostly what is looked for.
  std::array<std::uint32_t, 2> recent_kinds_ = {unused, unused};
  std::optional<std::pair<int, std::uint32_t>> last_group_;
  std::vector<Connections> connections_;
  Legs legs_;
  std::vector<std::uint32_t> seated_;  ///< the links of the flow that is added
  // Of a pipeline: the last flow to arrive at each rank, for each flow of this phase the one that
  // arrived where it does before it, and the first flow of the group that is being added.
  std::vector<std::uint32_t> last_arrival_;
  std::vector<std::uint32_t> arrival_before_;
  std::uint32_t group_begin_ = 0;
  // Of the group that is added, whose whole messages are sent on.
  std::unordered_map<int, std::uint32_t> senders_;  ///< rank -> link
  std::uint32_t senders_of_ = unused;               ///< the group
  FlowGraph graph_;
};

}  // namespace

FlowGraph make_flow_graph(ClusterLinks links, std::span<const Pattern> patterns,
                          bool separate_phases, const std::function<void(int pattern)>& read) {
  return Builder(links, patterns, separate_phases, read).take();
}

}  // namespace gradwire
