#include "sim/engine/forwarding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/engine/pacing.hpp"

namespace gradwire {
namespace {

/// Of a message: what is left of it by rounding.
constexpr double rounded = 1e-9;

class Forwarding {
 public:
  Forwarding(const Quotient& quotient, const GroupClass& group, double bytes,
             const CollectiveCost& cost)
      : quotient_(quotient), load_(quotient.problem.capacity.size()) {
    std::vector<double> part(quotient.flow_classes.size());
    for (const auto& member : group.members) part[member.flow_class] = 1.0 / member.count;
    messages_.reserve(group.stages.size());
    for (std::uint32_t i = 0; i < group.stages.size(); ++i) {
      const GroupClass::Stage& stage = group.stages[i];
      const FlowClass& flow = quotient.flow_classes[stage.flow_class];
      messages_.push_back({.flow = &flow,
                           .part = part[stage.flow_class],
                           .left = flow.kind.share * bytes,
                           .wait = message_latency(flow, cost),
                           .awaited = stage.before.size()});
      for (const std::uint32_t before : stage.before) messages_[before].after.push_back(i);
      if (stage.before.empty()) begun_.push_back(i);
    }
    none_ = rounded * bytes;
  }

  [[nodiscard]] double time() {
    double now = 0;
    while (!begun_.empty()) {
      share_rows();
      const double step = next_event();
      advance(step);
      now += step;
    }
    return now;
  }

 private:
  struct Message {
    const FlowClass* flow;
    double part;          ///< of its class
    double left;          ///< bytes
    double wait;          ///< seconds until its first byte moves
    std::size_t awaited;  ///< arrivals
    double rate = 0;
    std::vector<std::uint32_t> after{};  ///< those that await this one
  };

  [[nodiscard]] const std::vector<RowUse>& rows_of(const Message& message) const {
    return quotient_.problem.columns[message.flow->column];
  }

  void share_rows() {
    for (const std::uint32_t id : begun_) {
      const Message& message = messages_[id];
      if (message.wait > 0) continue;
      for (const RowUse& use : rows_of(message)) load_[use.row] += message.part * use.weight;
    }
    for (const std::uint32_t id : begun_) {
      Message& message = messages_[id];
      if (message.wait > 0) continue;
      message.rate = message.flow->lone_rate;
      for (const RowUse& use : rows_of(message)) {
        message.rate = std::min(message.rate, quotient_.problem.capacity[use.row] / load_[use.row]);
      }
    }
    for (const std::uint32_t id : begun_) {
      for (const RowUse& use : rows_of(messages_[id])) load_[use.row] = 0;
    }
  }

  [[nodiscard]] double next_event() const {
    double next = std::numeric_limits<double>::infinity();
    for (const std::uint32_t id : begun_) {
      const Message& message = messages_[id];
      next = std::min(next, message.wait > 0 ? message.wait : message.left / message.rate);
    }
    return next;
  }

  void advance(double step) {
    std::vector<std::uint32_t> go_on;
    for (const std::uint32_t id : begun_) {
      Message& message = messages_[id];
      if (message.wait > 0) {
        message.wait -= step;
        if (message.wait <= rounded * step) message.wait = 0;
        go_on.push_back(id);
        continue;
      }
      message.left -= step * message.rate;
      if (message.left > none_) {
        go_on.push_back(id);
        continue;
      }
      for (const std::uint32_t after : message.after) {
        if (--messages_[after].awaited == 0) go_on.push_back(after);
      }
    }
    begun_ = std::move(go_on);
  }

  const Quotient& quotient_;
  std::vector<double> load_;  ///< of rows; 0 where nothing moves
  double none_ = 0;           ///< bytes
  std::vector<Message> messages_;
  std::vector<std::uint32_t> begun_;  ///< messages that wait or move
};

}  // namespace

double forwarding_time(const Quotient& quotient, const GroupClass& group, double bytes,
                       const CollectiveCost& cost) {
  return Forwarding(quotient, group, bytes, cost).time();
}

}  // namespace gradwire
