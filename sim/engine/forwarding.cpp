#include "sim/engine/forwarding.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <utility>

#include "sim/engine/incremental_transport.hpp"
#include "sim/engine/message_order.hpp"
#include "sim/engine/pacing.hpp"
#include "sim/engine/transport.hpp"

namespace gradwire {
namespace {

/// The phase's messages through rows of their own.
class Forwarding final : Transport::Listener {
 public:
  Forwarding(const Quotient& quotient, const PhaseClasses& phase, double bytes,
             const CollectiveCost& cost)
      : order_(phase), times_(phase.groups.size()) {
    FlowProblem problem;
    for (std::uint32_t group = 0; group < phase.groups.size(); ++group) {
      for (const GroupClass::Member& member : phase.groups[group].members) {
        const FlowClass& flow = quotient.flow_classes[member.flow_class];
        add_column(quotient.problem, flow.column, problem);
        messages_.push_back({.group = group,
                             .bytes = flow.kind.share * bytes,
                             .ceiling = flow.kind.ceiling,
                             .latency = Seconds{message_latency(flow, cost)}});
      }
    }
    transport_ = make_incremental_transport(problem);
  }

  [[nodiscard]] std::vector<double> times() {
    order_.begin([this](std::uint32_t message) { send(message); });
    wake();
    transport_->run(*this);
    return std::move(times_);
  }

 private:
  struct Message {
    std::uint32_t group = 0;
    double bytes = 0;
    double ceiling = 0;
    Seconds latency;
  };
  using Due = std::pair<Seconds, std::uint32_t>;

  void add_column(const FlowProblem& all, std::uint32_t column, FlowProblem& problem) {
    auto& uses = problem.columns.emplace_back();
    for (const RowUse& use : all.columns[column]) {
      const auto next = static_cast<std::uint32_t>(problem.capacity.size());
      const auto [row, is_new] = rows_.try_emplace(use.row, next);
      if (is_new) problem.capacity.push_back(all.capacity[use.row]);
      uses.push_back({row->second, use.weight});
    }
    if (!all.copies.empty()) problem.copies.push_back(all.copies[column]);
  }

  void send(std::uint32_t message) { waiting_.emplace(now_ + messages_[message].latency, message); }

  /// Moves those whose latency is over.
  void wake() {
    for (; !waiting_.empty() && waiting_.top().first <= now_; waiting_.pop()) {
      const std::uint32_t id = waiting_.top().second;
      transport_->start(id, messages_[id].bytes, messages_[id].ceiling, id);
    }
    if (!waiting_.empty()) transport_->wake_at(waiting_.top().first);
  }

  void on_instant(Seconds now, std::span<const Transport::Token> ended) override {
    now_ = now;
    for (const Transport::Token token : ended) {
      const auto message = static_cast<std::uint32_t>(token);
      times_[messages_[message].group] = now.count();
      order_.arrived(message, [this](std::uint32_t next) { send(next); });
    }
    wake();
  }

  MessageOrder order_;
  std::vector<double> times_;
  std::vector<Message> messages_;
  std::map<std::uint32_t, std::uint32_t> rows_;  ///< of the quotient's problem -> of this one
  std::unique_ptr<Transport> transport_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> waiting_;
  Seconds now_;
};

}  // namespace

std::vector<double> forwarding_times(const Quotient& quotient, const PhaseClasses& phase,
                                     double bytes, const CollectiveCost& cost) {
  return Forwarding(quotient, phase, bytes, cost).times();
}

}  // namespace gradwire
