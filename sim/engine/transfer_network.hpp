#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/link_shares.hpp"
#include "sim/engine/message_order.hpp"
#include "sim/engine/network.hpp"
#include "sim/engine/quotient.hpp"
#include "sim/engine/transport.hpp"

namespace gradwire {

/// What both fidelities share: start-up, one phase after the other, plans kept for the next time,
/// statistics and the physical bound. How a phase moves is theirs.
class TransferNetwork : public Network {
 public:
  /// `queue` and `transport` must outlive it; the transport's problem is `quotient.problem`, which
  /// is kept only where phases that send whole messages on ask for it.
  TransferNetwork(EventQueue& queue, Transport& transport, LinkShares shares, Quotient quotient,
                  NetworkStats stats);

  void start(TransferId id, PatternId pattern, Bytes size, const CollectiveCost& cost) final;
  [[nodiscard]] const NetworkStats& stats() const final { return stats_; }
  void visit_usage(const std::function<void(const LinkUse&)>& visit) const final;
  [[nodiscard]] Contended contended() const final { return contended_; }
  void restart_usage() final;
  [[nodiscard]] const Carried& carried() const final { return all_; }
  void count_again(const Carried& since, double times) final;

  /// A flow that it has given to the transport has ended.
  void on_flow_end(Transport::Token token) {
    const auto slot = static_cast<std::uint32_t>(token >> 32U);
    if (transfers_[slot].is_message || !phase_of(slot).by_message) return message_ended(slot);
    message_arrived(slot, static_cast<std::uint32_t>(token));
  }

  [[nodiscard]] bool has_finished() const { return !finished_.empty(); }
  /// The transfers that have finished since the last call, in order of id.
  [[nodiscard]] std::vector<TransferId> take_finished();
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

 protected:
  /// A flow of a phase, with all that its pattern, size and cost decide.
  struct PlannedFlow {
    std::uint32_t column = 0;
    double bytes = 0;     ///< on the wire, each time it is started
    double rate_cap = 0;  ///< bytes per second
    Seconds latency;      ///< before the first byte, each time
  };
  struct PlannedPhase {
    std::vector<PlannedFlow> flows;
    std::uint64_t messages = 0;  ///< flow ends to wait for
    bool by_message = false;     ///< each flow is started once for each of its messages
    /// All of it where nothing else moves, if then each flow has its `rate_cap` from the beginning
    /// to its end; else nothing.
    std::optional<Seconds> uncontended;
  };
  struct Plan {
    std::vector<PlannedPhase> phases;
    double uncontended = 0;  ///< seconds that all take where nothing else moves
  };
  struct Transfer {
    TransferId id = 0;
    PatternId pattern = 0;
    std::shared_ptr<const Plan> plan;
    double scale = 1;                ///< bytes of a flow over those planned
    double uncontended = 0;          ///< seconds where nothing else moves
    std::uint32_t first_column = 0;  ///< that of the plan's column 0
    std::size_t phase = 0;
    std::uint64_t left = 0;   ///< flow ends of this phase still to come
    double bytes = 0;         ///< on the wire
    Seconds started;          ///< after the start-up
    bool is_message = false;  ///< a single one: it is launched, and is over with its flow
    bool active = false;
  };

  /// What to move in a phase whose groups take `times` seconds uncontended: plan_flows() or
  /// plan_messages().
  /// @param bytes  of the collective on the wire, > 0.
  [[nodiscard]] virtual PlannedPhase plan_phase(const PhaseClasses& phase, double bytes,
                                                const CollectiveCost& cost,
                                                const std::vector<double>& times) const = 0;
  /// All that a flow moves as one fluid; those of coupled groups so fast that they take the times.
  [[nodiscard]] PlannedPhase plan_flows(const PhaseClasses& phase, double bytes,
                                        const CollectiveCost& cost,
                                        const std::vector<double>& times) const;
  /// Every message, each when Coupling lets it. REQUIRES: that of MessageOrder.
  [[nodiscard]] PlannedPhase plan_messages(const PhaseClasses& phase, double bytes,
                                           const CollectiveCost& cost,
                                           const std::vector<double>& times) const;
  /// Starts a phase that plan_flows() planned.
  virtual void start_flows(std::uint32_t slot);
  /// A transfer is about to begin its first phase.
  virtual void another_begins() {}

  /// Starts what is left of it. @param bytes  > 0.
  void go_on(std::uint32_t slot, std::uint32_t flow, double bytes);
  /// So many flow ends of the running phase are still to come.
  void wait_for(std::uint32_t slot, std::uint64_t ends) { transfers_[slot].left = ends; }
  /// All messages of the running phase have ended.
  void phase_ended(std::uint32_t slot);
  /// One transfer is between its first phase and its end.
  [[nodiscard]] bool moves_alone() const { return moving_ == 1; }
  [[nodiscard]] EventQueue& queue() { return queue_; }

  [[nodiscard]] const Transfer& transfer(std::uint32_t slot) const { return transfers_[slot]; }
  [[nodiscard]] const PlannedPhase& phase_of(std::uint32_t slot) const {
    return transfers_[slot].plan->phases[transfers_[slot].phase];
  }
  [[nodiscard]] const Quotient& quotient() const { return quotient_; }

 private:
  /// What of a transfer's price decides its plan, beside the pattern and the size.
  using PriceKey = std::tuple<double, double, double, double, double, bool>;
  using PlanKey = std::pair<std::int64_t, PriceKey>;  ///< size, and that
  /// What is asked of a pattern each time that it moves.
  struct PatternFacts {
    const FlowClass* message = nullptr;  ///< of one that is a single message; null of others
    double seconds_per_byte = 0;
  };
  /// A byte through column 0. Asynchronous workers' messages have ever other sizes, and differ in
  /// little but their columns.
  struct BytePlan {
    FlowKind kind;  ///< its phase means nothing
    PriceKey price;
    std::shared_ptr<const Plan> plan;
  };

  [[nodiscard]] static PriceKey price_of(const CollectiveCost& cost);
  [[nodiscard]] const FlowClass* message_of(const PatternClasses& pattern) const;
  /// Of a pattern that is this message.
  [[nodiscard]] PatternClasses classes_of(const FlowClass& message) const;
  std::shared_ptr<const Plan> plan(PatternId pattern, Bytes size, double wire_bytes,
                                   const CollectiveCost& cost);
  /// Of a pattern that is a single message, which only other flows slow.
  std::shared_ptr<const Plan> plan_of_byte(PatternId pattern, const CollectiveCost& cost);
  [[nodiscard]] Plan planned(PatternId pattern, double wire_bytes,
                             const CollectiveCost& cost) const;
  void enter(std::uint32_t slot);
  void begin(std::uint32_t slot);
  void start_messages(std::uint32_t slot);
  void message_arrived(std::uint32_t slot, std::uint32_t flow);
  /// To be called once for every message of the running phase.
  void message_ended(std::uint32_t slot);
  /// Starts a flow of the running phase after its latency.
  void launch(std::uint32_t slot, std::uint32_t flow) { launch(slot, flow, flow + 1); }
  /// Starts it and those behind it that have its latency. @return the first that has another.
  std::uint32_t launch_alike(std::uint32_t slot, std::uint32_t flow);
  /// Starts flows of one latency from `flow` up to `end`.
  void launch(std::uint32_t slot, std::uint32_t flow, std::uint32_t end);
  void move(std::uint32_t slot, std::uint32_t flow, std::uint32_t end);
  void finish(std::uint32_t slot);
  /// Of a transfer that ends now, the share of its time since usage was restarted.
  [[nodiscard]] double counted_share(const Transfer& done) const;

  EventQueue& queue_;
  Transport& transport_;
  LinkShares shares_;
  Quotient quotient_;
  NetworkStats stats_;
  using PlansOfPattern = std::map<PlanKey, std::shared_ptr<const Plan>>;
  /// By pattern, the latest; all go where there are too many. Most patterns are messages, which
  /// need none.
  std::vector<std::unique_ptr<PlansOfPattern>> plans_;
  std::size_t planned_ = 0;          ///< how many plans
  std::vector<PatternFacts> facts_;  ///< by pattern
  std::vector<BytePlan> byte_plans_;
  std::vector<Transfer> transfers_;
  std::vector<MessageOrder> orders_;  ///< by slot, of those that move message by message
  std::vector<std::uint32_t> free_;
  std::vector<TransferId> finished_;
  std::vector<double> carried_;  ///< pattern -> wire bytes of finished collectives since then
  Seconds counted_from_;         ///< where `carried_` begins
  Contended contended_;          ///< since then
  Carried all_;                  ///< since the beginning
  std::size_t in_flight_ = 0;
  std::size_t moving_ = 0;  ///< of them those whose start-up is over
};

}  // namespace gradwire
