#include "sim/engine/phase_reader.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

namespace gradwire {

bool PhaseReader::read(const Pattern& pattern, const Phase& phase) {
  if (!moves_as_one(phase.coupling, phase.steps)) return false;
  count_flows(pattern, phase);
  flow_classes_.assign(phase.runs.empty() ? 0 : phase.flows.size(), none);
  arrived_.assign(phase.coupling == Coupling::pipeline ? at(pattern.ranks) : 0, 0);
  const auto add = [&](std::uint32_t begin, std::uint32_t size) {
    for (std::size_t flow = begin; flow < std::size_t{begin} + size; ++flow) {
      if (!begin_group(phase.flows[flow]) || !add_flow(pattern, phase, flow)) return false;
    }
    return true;
  };
  if (phase.runs.empty() && !add(0, static_cast<std::uint32_t>(phase.flows.size()))) return false;
  for (const FlowRun& run : phase.runs) {
    const bool is_rigid = run.machine == 0
                              ? add(run.begin, run.size)
                              : begin_group(phase.flows[run.begin]) && add_run(pattern, phase, run);
    if (!is_rigid) return false;
  }
  end_group();
  return true;
}

bool PhaseReader::begin_group(const PatternFlow& flow) {
  if (!bodies_.empty() && flow.group == group_) return true;
  if (!bodies_.empty()) end_group();
  group_ = flow.group;
  bodies_.emplace_back().share = flow.share;
  seen_.resize(std::max(seen_.size(), at(group_) + 1), false);
  const bool is_new = !seen_[at(group_)];
  seen_[at(group_)] = true;
  return is_new;
}

void PhaseReader::count_flows(const Pattern& pattern, const Phase& phase) {
  slots_ = LinkSlots(pattern, links_.size());
  passages_.assign(slots_.size(), {});
  for (std::size_t flow = 0; flow < phase.flows.size(); ++flow) {
    ask_for(pattern, phase, flow);
    for (const LinkId id : path_of(pattern, phase.flows[flow])) ++passage(id).sort;
  }
  sorts_.clear();
  PairIndex known;
  slots_.visit([&](std::size_t id, std::size_t slot) {
    Number& sort = passages_[slot].sort;  // so far the number of its flows
    if (sort == 0) return;
    const LinkType& type = types_[links_.type_of(id)];
    assert(std::isfinite(type.capacity) && type.capacity > 0);
    const double rate = type.capacity / sort;
    bool is_new = false;
    sort = known.of(links_.type_of(id), sort, is_new);
    if (is_new) sorts_.push_back({type, rate});
  });
}

bool PhaseReader::add_flow(const Pattern& pattern, const Phase& phase, std::size_t index) {
  const PatternFlow& flow = phase.flows[index];
  const auto number = static_cast<Number>(bodies_.size() - 1);
  Body& body = bodies_.back();
  const Number flow_class = class_of(pattern, phase, index);
  if (flow_class == none || flow.share != body.share) return false;
  ++body.told.flows;
  count_class(flow_class, 1);
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
  if (!arrived_.empty()) {
    if (flow_classes_.empty() && arrived_[at(flow.destination)] == 0) {
      reached_.push_back(at(flow.destination));
    }
    meet(stage_of(flow_class, at(flow.source), at(flow.destination)));
  }
  return true;
}

bool PhaseReader::add_run(const Pattern& pattern, const Phase& phase, const FlowRun& run) {
  const Chain& chain = chain_of(pattern, phase, run);
  Body& body = bodies_.back();
  if (!chain.is_rigid || chain.share != body.share) return false;
  body.told.flows += run.size;
  for (const auto& [flow_class, flows] : chain.classes) count_class(flow_class, flows);
  for (const Number stage : chain.stages) meet(stage);
  return true;
}

std::span<PhaseReader::Number> PhaseReader::arrived_at(const Pattern& pattern, int machine) {
  const std::size_t ranks = at(pattern.fold.ranks);
  return arrived_.empty() ? std::span<Number>()
                          : std::span(arrived_).subspan(at(machine) * ranks, ranks);
}

const PhaseReader::Chain& PhaseReader::chain_of(const Pattern& pattern, const Phase& phase,
                                                const FlowRun& run) {
  const std::span<Number> arrived = arrived_at(pattern, run.machine);
  const auto is_last = [&] {
    return chain_ != nullptr && chain_key_[0] == run.begin && chain_key_[1] == run.size &&
           std::equal(arrived.begin(), arrived.end(), chain_key_.begin() + 2);
  };
  if (!is_last()) {
    chain_key_.assign({run.begin, run.size});
    chain_key_.insert(chain_key_.end(), arrived.begin(), arrived.end());
    const auto found = chains_.find(chain_key_);
    if (found == chains_.end()) {
      const Chain chain = read_chain(pattern, phase, run);
      chain_ = &chains_.emplace(chain_key_, chain).first->second;
      return *chain_;
    }
    chain_ = &found->second;
  }
  std::ranges::copy(chain_->arrived, arrived.begin());
  return *chain_;
}

PhaseReader::Chain PhaseReader::read_chain(const Pattern& pattern, const Phase& phase,
                                           const FlowRun& run) {
  Chain chain;
  chain.share = phase.flows[run.begin].share;
  const int further = run.machine * pattern.fold.ranks;
  for (std::size_t index = run.begin; index < std::size_t{run.begin} + run.size; ++index) {
    const PatternFlow& flow = phase.flows[index];
    assert(flow.group == group_);
    const Number flow_class = class_of(pattern, phase, index);
    if (flow_class == none || flow.share != chain.share) {
      chain.is_rigid = false;
      return chain;
    }
    const auto known =
        std::ranges::find(chain.classes, flow_class, &std::pair<Number, Number>::first);
    if (known == chain.classes.end()) {
      chain.classes.emplace_back(flow_class, 1);
    } else {
      ++known->second;
    }
    if (arrived_.empty()) continue;
    chain.stages.push_back(
        stage_of(flow_class, at(flow.source + further), at(flow.destination + further)));
  }
  const std::span<Number> arrived = arrived_at(pattern, run.machine);
  chain.arrived.assign(arrived.begin(), arrived.end());
  return chain;
}

void PhaseReader::count_class(Number flow_class, Number flows) {
  const auto number = static_cast<Number>(bodies_.size() - 1);
  auto& members = bodies_.back().told.members;
  if (std::exchange(class_met_in_[flow_class], number) != number) {
    members_[flow_class] = static_cast<std::uint32_t>(members.size());
    members.push_back({flow_class, 0});
  }
  members[members_[flow_class]].count += flows;
}

void PhaseReader::meet(Number stage) {
  const auto number = static_cast<Number>(bodies_.size() - 1);
  if (stage >= stage_met_in_.size()) stage_met_in_.resize(std::size_t{stage} + 1, none);
  if (std::exchange(stage_met_in_[stage], number) != number) stages_met_.push_back(stage);
}

void PhaseReader::end_group() {
  if (flow_classes_.empty()) {
    for (const std::size_t rank : reached_) arrived_[rank] = 0;
    reached_.clear();
  } else {
    std::ranges::fill(arrived_, 0);  // a group of a folded phase reaches all
  }
  Body& body = bodies_.back();
  tell_stages(body.told);
  body.kind = kind_of(body.share, body.told);
}

PhaseReader::Number PhaseReader::class_of(const Pattern& pattern, const Phase& phase,
                                          std::size_t index) {
  if (flow_classes_.empty()) return find_class(pattern, phase.flows[index]);
  Number& known = flow_classes_[index];
  if (known == none) known = find_class(pattern, phase.flows[index]);
  return known;
}

PhaseReader::Number PhaseReader::find_class(const Pattern& pattern, const PatternFlow& flow) {
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

PhaseReader::Number PhaseReader::stage_of(Number flow_class, std::size_t source,
                                          std::size_t destination) {
  const Number stage = stages_.of(flow_class, arrived_[source]);
  arrived_[destination] = arrivals_.of(arrived_[destination], stage);
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

PhaseReader::Number PhaseReader::kind_of(double share, const GroupClass& told) {
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

}  // namespace gradwire
