#include "sim/engine/transfer_network.hpp"

#include <algorithm>
#include <cassert>

#include "sim/engine/pacing.hpp"

namespace gradwire {
namespace {

/// Rounding of a transfer's duration that is no breach of the physical bound, relative to it and
/// to the transport's clock at its end.
constexpr double duration_rounding = 1e-9;
constexpr double clock_rounding = 1e-12;
/// A transfer that takes longer than uncontended by less than this share of it was rounded.
constexpr double contended_least = 1e-6;
/// Plans that are kept, some 300 bytes each: enough for the sizes that come again and again.
constexpr std::size_t plans_least = 4096;
constexpr std::size_t plans_of_pattern = 4;
/// Plans of a byte that are kept: they are looked through one by one.
constexpr std::size_t byte_plans_most = 8;

/// All of a phase's flows may have their fair rates at once, and so may slower ones.
bool has_room(const Quotient& quotient, const GroupClass& group, double rate) {
  return std::ranges::all_of(group.members, [&](const GroupClass::Member& member) {
    return rate <= quotient.flow_classes[member.flow_class].fair_rate;
  });
}

/// As on_flow_end() reads it.
Transport::Token token_of(std::uint32_t slot, std::uint32_t flow) {
  return (Transport::Token{slot} << 32U) | flow;
}

}  // namespace

TransferNetwork::TransferNetwork(EventQueue& queue, Transport& transport, LinkShares shares,
                                 Quotient quotient, NetworkStats stats)
    : queue_(queue),
      transport_(transport),
      shares_(std::move(shares)),
      quotient_(std::move(quotient)),
      stats_(std::move(stats)),
      plans_(quotient_.patterns.size()),
      carried_(quotient_.patterns.size(), 0),
      all_{.bytes = carried_, .contended = {}} {
  const bool any_forwards = std::ranges::any_of(quotient_.patterns, [](const auto& pattern) {
    return std::ranges::any_of(pattern.phases, [](const PhaseClasses& phase) {
      return forwards_messages(phase.coupling, phase.steps);
    });
  });
  if (!any_forwards) quotient_.problem = {};
  facts_.reserve(quotient_.patterns.size());
  for (PatternClasses& pattern : quotient_.patterns) {
    facts_.push_back({message_of(pattern), pattern.seconds_per_byte});
    // Hundreds of thousands: all of its classes is in what is noted.
    if (facts_.back().message != nullptr) pattern.phases = std::vector<PhaseClasses>();
  }
}

void TransferNetwork::start(TransferId id, PatternId pattern, Bytes size,
                            const CollectiveCost& cost) {
  assert(size.count() >= 0 && cost.efficiency > 0);
  const double wire_bytes = static_cast<double>(size.count()) / cost.efficiency;
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(transfers_.size());
    transfers_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  const FlowClass* message = facts_[static_cast<std::size_t>(pattern)].message;
  const bool scales = message != nullptr && wire_bytes > 0 && !cost.uncontended;
  auto plans = scales ? plan_of_byte(pattern, cost) : plan(pattern, size, wire_bytes, cost);
  const double uncontended =
      scales ? message_time(*message, 1, wire_bytes, cost) : plans->uncontended;
  transfers_[slot] = {.id = id,
                      .pattern = pattern,
                      .plan = std::move(plans),
                      .scale = scales ? wire_bytes : 1,
                      .uncontended = uncontended,
                      .first_column = scales ? message->column : 0,
                      .bytes = wire_bytes,
                      .started = queue_.now() + cost.startup,
                      .is_message = message != nullptr,
                      .active = true};
  ++in_flight_;
  if (cost.startup > Seconds{}) {
    queue_.post(queue_.now() + cost.startup, EventQueue::network_priority,
                [this, slot] { enter(slot); });
  } else {
    enter(slot);
  }
}

const FlowClass* TransferNetwork::message_of(const PatternClasses& pattern) const {
  if (pattern.phases.size() != 1) return nullptr;
  const PhaseClasses& phase = pattern.phases.front();
  const bool single = phase.coupling == Coupling::independent && phase.steps == 1 &&
                      phase.groups.size() == 1 && phase.groups.front().flows == 1;
  if (!single) return nullptr;
  return &quotient_.flow_classes[phase.groups.front().members.front().flow_class];
}

PatternClasses TransferNetwork::classes_of(const FlowClass& message) const {
  const auto flow_class = static_cast<std::uint32_t>(&message - quotient_.flow_classes.data());
  PatternClasses classes;
  PhaseClasses& phase = classes.phases.emplace_back();
  phase.groups.push_back({.members = {{flow_class, 1}}, .flows = 1, .stages = {}, .coupled = {}});
  return classes;
}

TransferNetwork::PriceKey TransferNetwork::price_of(const CollectiveCost& cost) {
  return {cost.hop_nvlink.count(),
          cost.hop_pcie.count(),
          cost.hop_network.count(),
          cost.efficiency,
          cost.uncontended ? cost.uncontended->count() : -1,
          cost.waits_within};
}

std::shared_ptr<const TransferNetwork::Plan> TransferNetwork::plan(PatternId pattern, Bytes size,
                                                                   double wire_bytes,
                                                                   const CollectiveCost& cost) {
  // A worker that sends together what waits sends ever other sizes: the plans must not pile up.
  if (planned_ >= plans_least + plans_of_pattern * quotient_.patterns.size()) {
    for (auto& plans : plans_) plans.reset();
    planned_ = 0;
  }
  const PlanKey key{size.count(), price_of(cost)};
  auto& plans = plans_[static_cast<std::size_t>(pattern)];
  if (!plans) plans = std::make_unique<PlansOfPattern>();
  const auto [found, is_new] = plans->try_emplace(key);
  if (!is_new) return found->second;
  ++planned_;
  return found->second = std::make_shared<const Plan>(planned(pattern, wire_bytes, cost));
}

std::shared_ptr<const TransferNetwork::Plan> TransferNetwork::plan_of_byte(
    PatternId pattern, const CollectiveCost& cost) {
  FlowKind kind = facts_[static_cast<std::size_t>(pattern)].message->kind;
  kind.phase = 0;
  const PriceKey price = price_of(cost);
  for (const BytePlan& known : byte_plans_) {
    if (known.kind == kind && known.price == price) return known.plan;
  }
  if (byte_plans_.size() == byte_plans_most) byte_plans_.clear();
  Plan plan = planned(pattern, 1, cost);
  for (PlannedFlow& flow : plan.phases.front().flows) flow.column = 0;
  byte_plans_.push_back({kind, price, std::make_shared<const Plan>(std::move(plan))});
  return byte_plans_.back().plan;
}

TransferNetwork::Plan TransferNetwork::planned(PatternId pattern, double wire_bytes,
                                               const CollectiveCost& cost) const {
  Plan plan;
  if (wire_bytes == 0) return plan;
  const FlowClass* message = facts_[static_cast<std::size_t>(pattern)].message;
  const PatternClasses of_message = message != nullptr ? classes_of(*message) : PatternClasses{};
  const PatternClasses& classes =
      message != nullptr ? of_message : quotient_.patterns[static_cast<std::size_t>(pattern)];
  const auto times = pace(quotient_, classes, wire_bytes, cost);
  for (std::size_t i = 0; i < times.size(); ++i) {
    plan.phases.push_back(plan_phase(classes.phases[i], wire_bytes, cost, times[i]));
    plan.uncontended += *std::ranges::max_element(times[i]);
  }
  return plan;
}

void TransferNetwork::enter(std::uint32_t slot) {
  ++moving_;
  another_begins();
  begin(slot);
}

void TransferNetwork::begin(std::uint32_t slot) {
  if (transfers_[slot].phase == transfers_[slot].plan->phases.size()) {
    finish(slot);
    return;
  }
  transfers_[slot].left = phase_of(slot).messages;
  if (transfers_[slot].is_message) return launch(slot, 0);
  if (phase_of(slot).by_message) return start_messages(slot);
  start_flows(slot);
}

void TransferNetwork::start_flows(std::uint32_t slot) {
  const auto flows = static_cast<std::uint32_t>(phase_of(slot).flows.size());
  for (std::uint32_t flow = 0; flow < flows;) flow = launch_alike(slot, flow);
}

TransferNetwork::PlannedPhase TransferNetwork::plan_flows(const PhaseClasses& phase, double bytes,
                                                          const CollectiveCost& cost,
                                                          const std::vector<double>& times) const {
  PlannedPhase planned;
  bool paced = true;
  for (std::size_t g = 0; g < phase.groups.size(); ++g) {
    const GroupClass& group = phase.groups[g];
    if (group.coupled) {
      const double moved = group.coupled->share * bytes;
      planned.flows.push_back({group.coupled->column, moved, moved / times[g], Seconds{}});
      paced &= has_room(quotient_, group, moved / times[g]);
      continue;
    }
    for (const GroupClass::Member& member : group.members) {
      const FlowClass& flow = quotient_.flow_classes[member.flow_class];
      const double moved = flow.kind.share * bytes;
      const bool is_paced = moves_as_one(phase.coupling, phase.steps) || cost.uncontended;
      paced &= is_paced && moved / times[g] <= flow.fair_rate;
      const double waits = is_paced ? 0 : phase.steps * message_latency(flow, cost);
      planned.flows.push_back(
          {flow.column, moved, is_paced ? moved / times[g] : flow.kind.ceiling, Seconds{waits}});
    }
  }
  planned.messages = planned.flows.size();
  if (paced) planned.uncontended = Seconds{*std::ranges::max_element(times)};
  return planned;
}

TransferNetwork::PlannedPhase TransferNetwork::plan_messages(
    const PhaseClasses& phase, double bytes, const CollectiveCost& cost,
    const std::vector<double>& times) const {
  PlannedPhase planned;
  const bool streams = moves_as_one(phase.coupling, phase.steps);
  const bool waits_within = streams && cost.waits_within && !cost.uncontended;
  for (std::size_t g = 0; g < phase.groups.size(); ++g) {
    const GroupClass& group = phase.groups[g];
    for (const GroupClass::Member& member : group.members) {
      const FlowClass& flow = quotient_.flow_classes[member.flow_class];
      const double message = flow.kind.share * bytes / phase.steps;
      // A measured time is spread evenly over the messages that follow each other; else a flow of a
      // coupled phase has its price's rate, whoever waits meanwhile.
      const double cap = cost.uncontended ? message * rounds(phase, group) / times[g]
                         : waits_within   ? message / message_time(flow, phase.steps, bytes, cost)
                         : streams        ? flow.fair_rate
                                          : flow.kind.ceiling;
      const double latency = waits_within ? 0 : message_latency(flow, cost);
      planned.flows.push_back({flow.column, message, cap, Seconds{latency}});
    }
  }
  planned.messages = planned.flows.size() * static_cast<std::uint64_t>(phase.steps);
  planned.by_message = true;
  return planned;
}

void TransferNetwork::start_messages(std::uint32_t slot) {
  if (orders_.size() <= slot) orders_.resize(slot + 1);
  const Transfer& moving = transfers_[slot];
  const PatternClasses& pattern = quotient_.patterns[static_cast<std::size_t>(moving.pattern)];
  orders_[slot] = MessageOrder(pattern.phases[moving.phase]);
  orders_[slot].begin([&](std::uint32_t flow) { launch(slot, flow); });
}

void TransferNetwork::message_arrived(std::uint32_t slot, std::uint32_t flow) {
  orders_[slot].arrived(flow, [&](std::uint32_t next) { launch(slot, next); });
  message_ended(slot);
}

std::uint32_t TransferNetwork::launch_alike(std::uint32_t slot, std::uint32_t flow) {
  const auto& flows = phase_of(slot).flows;
  std::uint32_t end = flow + 1;
  while (end < flows.size() && flows[end].latency == flows[flow].latency) ++end;
  launch(slot, flow, end);
  return end;
}

void TransferNetwork::launch(std::uint32_t slot, std::uint32_t flow, std::uint32_t end) {
  const Seconds latency = phase_of(slot).flows[flow].latency;
  if (latency > Seconds{}) {
    queue_.post(queue_.now() + latency, EventQueue::network_priority,
                [this, slot, flow, end] { move(slot, flow, end); });
  } else {
    move(slot, flow, end);
  }
}

void TransferNetwork::move(std::uint32_t slot, std::uint32_t flow, std::uint32_t end) {
  const Transfer& moved = transfers_[slot];
  for (; flow < end; ++flow) {
    const PlannedFlow& moves = phase_of(slot).flows[flow];
    transport_.start(moved.first_column + moves.column, moved.scale * moves.bytes, moves.rate_cap,
                     token_of(slot, flow));
  }
}

void TransferNetwork::go_on(std::uint32_t slot, std::uint32_t flow, double bytes) {
  const PlannedFlow& moves = phase_of(slot).flows[flow];
  transport_.start(transfers_[slot].first_column + moves.column, bytes, moves.rate_cap,
                   token_of(slot, flow));
}

void TransferNetwork::message_ended(std::uint32_t slot) {
  assert(transfers_[slot].active && transfers_[slot].left > 0);
  if (--transfers_[slot].left == 0) phase_ended(slot);
}

void TransferNetwork::phase_ended(std::uint32_t slot) {
  ++transfers_[slot].phase;
  begin(slot);
}

void TransferNetwork::finish(std::uint32_t slot) {
  Transfer& done = transfers_[slot];
  const auto pattern = static_cast<std::size_t>(done.pattern);
  const double taken = (queue_.now() - done.started).count();
  [[maybe_unused]] const double bound = done.bytes * facts_[pattern].seconds_per_byte;
  [[maybe_unused]] const double clock = (transport_.clock_start() + queue_.now()).count();
  assert(taken >= bound * (1 - duration_rounding) - clock_rounding * clock);
  carried_[pattern] += done.bytes * counted_share(done);
  all_.bytes[pattern] += done.bytes;
  if (const double longer = taken - done.uncontended; longer > contended_least * taken) {
    contended_.bytes += done.bytes * counted_share(done);
    contended_.seconds += longer * counted_share(done);
    all_.contended.bytes += done.bytes;
    all_.contended.seconds += longer;
  }
  finished_.push_back(done.id);
  done.active = false;
  free_.push_back(slot);
  --in_flight_;
  --moving_;
}

std::vector<TransferId> TransferNetwork::take_finished() {
  std::sort(finished_.begin(), finished_.end());
  return std::exchange(finished_, {});
}

void TransferNetwork::restart_usage() {
  std::ranges::fill(carried_, 0);
  contended_ = {};
  counted_from_ = queue_.now();
}

void TransferNetwork::count_again(const Carried& since, double times) {
  for (std::size_t pattern = 0; pattern < carried_.size(); ++pattern) {
    carried_[pattern] += times * (all_.bytes[pattern] - since.bytes[pattern]);
  }
  contended_.bytes += times * (all_.contended.bytes - since.contended.bytes);
  contended_.seconds += times * (all_.contended.seconds - since.contended.seconds);
}

double TransferNetwork::counted_share(const Transfer& done) const {
  if (done.started >= counted_from_) return 1;
  return (queue_.now() - counted_from_) / (queue_.now() - done.started);
}

void TransferNetwork::visit_usage(const std::function<void(const LinkUse&)>& visit) const {
  std::vector<double> bytes(shares_.ids(), 0);
  for (std::size_t pattern = 0; pattern < carried_.size(); ++pattern) {
    if (carried_[pattern] > 0) shares_.add_to(bytes, pattern, carried_[pattern]);
  }
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    if (bytes[link] > 0) visit({static_cast<LinkId>(link), bytes[link]});
  }
}

}  // namespace gradwire
