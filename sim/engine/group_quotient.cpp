#include "sim/engine/group_quotient.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/index.hpp"
#include "sim/engine/link_types.hpp"
#include "sim/engine/pair_index.hpp"

namespace gradwire {
namespace {

using Number = PairIndex::Number;

/// A group of a phase as one flow of a small problem.
struct Body {
  Number kind = 0;  ///< bodies of a kind take equally long, whatever the cost
  double share = 0;
  GroupClass told;
};

/// Reads phases one after the other; what they need of memory is used again.
class PhaseReader {
 public:
  PhaseReader(ClusterLinks links, std::vector<FlowClass>& classes)
      : links_(links), classes_(classes), types_(link_types(links)) {}

  /// @return false where the phase is none of rings or pipelines that are rigid.
  bool read(const Pattern& pattern, const Phase& phase);
  [[nodiscard]] const std::vector<Body>& bodies() const { return bodies_; }

  /// What its links let through: a capacity, and how often each body passes.
  struct Row {
    double capacity = 0;
    std::vector<std::pair<Number, Number>> bodies;  ///< (body, times)
  };
  [[nodiscard]] std::vector<Row> rows();

 private:
  static constexpr Number none = static_cast<Number>(-1);

  /// A link in this phase.
  struct Passage {
    Number sort = 0;   ///< at first how many flows pass, then the sort that it is
    Number state = 0;  ///< which bodies passed before the last one, a number of states_; 0: none
    Number last = 0;   ///< the last one that passed,
    Number times = 0;  ///< and how often; 0: none has
  };
  /// Links of one type over which equally many flows pass.
  struct Sort {
    LinkType link;
    double rate = 0;  ///< of each flow when all have an equal part
  };
  using ClassKey = std::tuple<double, std::int64_t, Hop, double, double>;

  [[nodiscard]] Passage& passage(LinkId id) { return passages_[at(id)]; }
  [[nodiscard]] static std::span<const LinkId> path_of(const Pattern& pattern,
                                                       const PatternFlow& flow) {
    return std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size);
  }
  /// Flows are met in no order, and their links wait for memory unless asked for before. Always
  /// inlined: to g++ 12 a call of it has no effect, and is taken out.
  [[gnu::always_inline]] void ask_for(const Pattern& pattern, const Phase& phase,
                                      std::size_t flow) const {
    constexpr std::size_t ahead = 6;
    if (flow + ahead >= phase.flows.size()) return;
    for (const LinkId id : path_of(pattern, phase.flows[flow + ahead])) {
      __builtin_prefetch(&passages_[at(id)]);
    }
  }
  void count_flows(const Pattern& pattern, const Phase& phase);
  /// What has passed, the last body included.
  [[nodiscard]] Number state_of(const Passage& link) {
    return link.times == 0 ? link.state
                           : states_.of(link.state, passing_.of(link.last, link.times));
  }
  /// Adds a flow of a machine to the group that was begun last. @return false where it is not
  /// rigid.
  bool add_flow(const Pattern& pattern, const Phase& phase, std::size_t index, int machine);
  void end_group();
  /// The class of a flow of this phase. @return none where all collectives share its connections.
  Number class_of(const Pattern& pattern, const PatternFlow& flow);
  /// What a flow of a pipeline waits for makes it a stage; its end is what others wait for.
  Number stage_of(Number flow_class, std::size_t source, std::size_t destination);
  void tell_stages(GroupClass& told) const;
  Number kind_of(double share, const GroupClass& told);

  ClusterLinks links_;
  std::vector<FlowClass>& classes_;
  std::vector<LinkType> types_;
  std::vector<Passage> passages_;
  std::vector<Sort> sorts_;
  std::unordered_map<ClassKey, Number, boost::hash<ClassKey>> class_index_;
  std::pair<ClassKey, Number> last_class_{{}, none};
  std::vector<Number> flow_classes_;  ///< of a folded phase's flows: they come again and again
  PairIndex passing_;                 ///< (body, times)
  PairIndex states_{1};               ///< (state before, of passing_)
  // Of pipelines.
  PairIndex stages_;                    ///< (class, arrivals before)
  PairIndex arrivals_{1};               ///< (arrivals before, stage); 0: none
  std::vector<Number> arrived_;         ///< at each rank, in the present group
  std::vector<std::size_t> reached_;    ///< ranks where something has
  std::vector<Number> stages_met_;      ///< of the present group
  std::vector<Number> stage_met_in_;    ///< [stage]: the last body that has it
  std::vector<Number> class_met_in_;    ///< [class less the first of this phase]
  std::vector<std::uint32_t> members_;  ///< the same: index of a group's member
  Number first_class_ = 0;              ///< of this phase
  std::map<std::pair<double, std::vector<Number>>, Number> kinds_;
  std::vector<Body> bodies_;
};

bool PhaseReader::read(const Pattern& pattern, const Phase& phase) {
  if (!moves_as_one(phase.coupling, phase.steps)) return false;
  count_flows(pattern, phase);
  class_index_.clear();
  last_class_.second = none;
  passing_ = PairIndex();
  states_ = PairIndex(1);
  stages_ = PairIndex();
  arrivals_ = PairIndex(1);
  stage_met_in_.clear();
  class_met_in_.clear();
  members_.clear();
  first_class_ = static_cast<Number>(classes_.size());
  kinds_.clear();
  bodies_.clear();
  flow_classes_.assign(phase.runs.empty() ? 0 : phase.flows.size(), none);
  std::vector<bool> seen;
  bool is_rigid = true;
  int group = -1;
  phase.visit_flows([&](std::size_t index, int machine) {
    const PatternFlow& flow = phase.flows[index];
    if (bodies_.empty() || flow.group != group) {
      if (!bodies_.empty()) end_group();
      group = flow.group;
      seen.resize(std::max(seen.size(), at(group) + 1), false);
      if (seen[at(group)]) is_rigid = false;
      seen[at(group)] = true;
      bodies_.emplace_back().share = flow.share;
    }
    is_rigid = is_rigid && add_flow(pattern, phase, index, machine);
  });
  end_group();
  return is_rigid;
}

void PhaseReader::count_flows(const Pattern& pattern, const Phase& phase) {
  passages_.assign(links_.size(), {});
  for (std::size_t flow = 0; flow < phase.flows.size(); ++flow) {
    ask_for(pattern, phase, flow);
    for (const LinkId id : path_of(pattern, phase.flows[flow])) ++passage(id).sort;
  }
  sorts_.clear();
  PairIndex known;
  for (std::size_t id = 0; id < passages_.size(); ++id) {
    Number& sort = passages_[id].sort;  // so far the number of its flows
    if (sort == 0) continue;
    const LinkType& type = types_[links_.type_of(id)];
    assert(std::isfinite(type.capacity) && type.capacity > 0);
    const double rate = type.capacity / sort;
    bool is_new = false;
    sort = known.of(links_.type_of(id), sort, is_new);
    if (is_new) sorts_.push_back({type, rate});
  }
}

bool PhaseReader::add_flow(const Pattern& pattern, const Phase& phase, std::size_t index,
                           int machine) {
  const PatternFlow& flow = phase.flows[index];
  const auto number = static_cast<Number>(bodies_.size() - 1);
  Body& body = bodies_.back();
  Number once = none;
  Number& flow_class = flow_classes_.empty() ? once : flow_classes_[index];
  if (flow_class == none) flow_class = class_of(pattern, flow);
  if (flow_class == none || flow.share != body.share) return false;
  ++body.told.flows;
  const std::size_t local = flow_class - first_class_;
  if (std::exchange(class_met_in_[local], number) != number) {
    members_[local] = static_cast<std::uint32_t>(body.told.members.size());
    body.told.members.push_back({flow_class, 0});
  }
  ++body.told.members[members_[local]].count;
  if (machine == 0) {  // the links of others are as those of the first
    ask_for(pattern, phase, index);
    for (const LinkId id : path_of(pattern, flow)) {
      Passage& link = passage(id);
      if (link.last != number) {
        link.state = state_of(link);
        link.last = number;
        link.times = 0;
      }
      ++link.times;
    }
  }
  if (phase.coupling != Coupling::pipeline) return true;
  const int further = machine * pattern.fold.ranks;
  const Number stage =
      stage_of(flow_class, at(flow.source + further), at(flow.destination + further));
  if (stage == stage_met_in_.size()) stage_met_in_.push_back(none);
  if (std::exchange(stage_met_in_[stage], number) != number) stages_met_.push_back(stage);
  return true;
}

void PhaseReader::end_group() {
  for (const std::size_t rank : reached_) arrived_[rank] = 0;
  reached_.clear();
  Body& body = bodies_.back();
  tell_stages(body.told);
  body.kind = kind_of(body.share, body.told);
}

Number PhaseReader::class_of(const Pattern& pattern, const PatternFlow& flow) {
  assert(flow.path_size > 0 && flow.share > 0);
  FlowKind kind{.phase = 0, .share = flow.share, .latency = 0, .hop = Hop::nvlink};
  double rate = std::numeric_limits<double>::infinity();
  for (const LinkId id : path_of(pattern, flow)) {
    const Sort& sort = sorts_[passage(id).sort];
    kind.latency += sort.link.latency;
    kind.hop = std::max(kind.hop, sort.link.hop);
    kind.ceiling = std::min(kind.ceiling, sort.link.ceiling(pattern.connections));
    rate = std::min(rate, sort.rate);
  }
  if (pattern.connections > 0 && std::isfinite(kind.ceiling)) return none;
  rate = std::min(rate, kind.ceiling);
  const ClassKey key{kind.share, femtoseconds(kind.latency), kind.hop, kind.ceiling, rate};
  if (last_class_.second != none && last_class_.first == key) return last_class_.second;
  const auto [found, is_new] = class_index_.try_emplace(key, static_cast<Number>(classes_.size()));
  if (is_new) {
    classes_.push_back({.kind = kind, .column = 0, .fair_rate = rate});
    class_met_in_.push_back(none);
    members_.push_back(0);
  }
  last_class_ = {key, found->second};
  return found->second;
}

Number PhaseReader::stage_of(Number flow_class, std::size_t source, std::size_t destination) {
  const std::size_t ranks = std::max(source, destination) + 1;
  if (arrived_.size() < ranks) arrived_.resize(ranks, 0);
  const Number stage = stages_.of(flow_class, arrived_[source]);
  Number& there = arrived_[destination];
  if (there == 0) reached_.push_back(destination);
  there = arrivals_.of(there, stage);
  return stage;
}

/// Flows that begin alike and wait for the same stages end at the same time: one stands for all.
void PhaseReader::tell_stages(GroupClass& told) const {
  std::vector<Number> stages = stages_met_;  // one is numbered after those that it waits for
  std::ranges::sort(stages);
  for (const Number stage : stages) {
    const auto [flow_class, before] = stages_.pair(stage);
    auto& one = told.stages.emplace_back(GroupClass::Stage{flow_class, {}});
    for (Number left = before; left != 0;) {
      const auto [others, awaited] = arrivals_.pair(left);
      const auto found = std::ranges::lower_bound(stages, awaited);
      one.before.push_back(static_cast<std::uint32_t>(found - stages.begin()));
      left = others;
    }
  }
}

Number PhaseReader::kind_of(double share, const GroupClass& told) {
  std::vector<Number> key = std::exchange(stages_met_, {});
  if (told.stages.empty()) {
    for (const auto& member : told.members) key.push_back(member.flow_class);
  }
  std::ranges::sort(key);
  const auto next = static_cast<Number>(kinds_.size());
  return kinds_.try_emplace({share, std::move(key)}, next).first->second;
}

std::vector<PhaseReader::Row> PhaseReader::rows() {
  constexpr double unused = std::numeric_limits<double>::infinity();
  std::vector<double> least;
  for (const Passage& link : passages_) {
    const Number state = state_of(link);
    if (state == 0) continue;
    least.resize(std::max<std::size_t>(least.size(), state + 1), unused);
    least[state] = std::min(least[state], sorts_[link.sort].link.capacity);
  }
  std::vector<Row> rows;
  for (Number state = 1; state < least.size(); ++state) {
    if (least[state] == unused) continue;  // more has passed over those links
    Row& row = rows.emplace_back();
    Number divisor = 0;
    for (Number left = state; left != 0;) {
      const auto [before, passing] = states_.pair(left);
      row.bodies.push_back(passing_.pair(passing));
      divisor = std::gcd(divisor, row.bodies.back().second);
      left = before;
    }
    row.capacity = least[state] / divisor;
    for (auto& [body, times] : row.bodies) times /= divisor;
  }
  return rows;
}

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
    const Body& body = read.bodies()[i];
    graph.path.insert(graph.path.end(), paths[i].begin(), paths[i].end());
    graph.path_begin.push_back(static_cast<std::uint32_t>(graph.path.size()));
    graph.before_begin.push_back(0);
    graph.group.push_back(FlowGraph::no_group);
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
  graph.before_begin.push_back(0);
  graph.pattern_count = static_cast<int>(patterns.size());
  std::vector<Body> bodies;
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
  std::vector<const Body*> told(partition.flow_classes, nullptr);  // the first of each class
  for (std::size_t body = 0; body < bodies.size(); ++body) {
    const Body*& first = told[partition.flow_class[body]];
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
