#pragma once

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire::test {

/// Feeds a strategy with events and notes what it posts, without any time: an operation ends when
/// the test says so.
class ToyLoop {
 public:
  explicit ToyLoop(Strategy& strategy) : strategy_(&strategy) {}

  /// Tells the strategy; returns what it posts, each in a short text.
  std::vector<std::string> tell(const Event& event) {
    std::vector<std::string> texts;
    for (const auto& operation : strategy_->on_event(Seconds{}, event)) {
      if (ends_by_itself(operation)) under_way_.push_back(static_cast<OperationId>(log_.size()));
      log_.push_back(operation);
      texts.push_back(text(operation));
    }
    return texts;
  }
  /// The oldest operation under way ends.
  std::vector<std::string> end_oldest() { return end_oldest(""); }
  /// The oldest one under way whose text starts so. REQUIRES: there is one.
  std::vector<std::string> end_oldest(const std::string& start) {
    const auto found = std::ranges::find_if(under_way_, [&](OperationId id) {
      return text(log_[static_cast<std::size_t>(id)]).starts_with(start);
    });
    if (found == under_way_.end()) throw std::logic_error("nothing under way is " + start);
    const OperationId id = *found;
    under_way_.erase(found);
    return tell(OperationDone{id});
  }
  /// All that is under way and follows from it ends, oldest first; returns what was posted.
  std::vector<std::string> end_all() {
    std::vector<std::string> texts;
    while (!under_way_.empty()) {
      for (auto& posted : end_oldest()) texts.push_back(std::move(posted));
    }
    return texts;
  }
  [[nodiscard]] const Operations& log() const { return log_; }
  [[nodiscard]] bool quiet() const { return under_way_.empty(); }

  /// One iteration of one micro-batch: forward hooks where asked for, gradients, end of backward.
  std::vector<std::string> iterate(const JobView& job, int iteration) {
    std::vector<std::string> texts;
    const auto note = [&texts](std::vector<std::string> more) {
      for (auto& posted : more) texts.push_back(std::move(posted));
    };
    note(tell(IterationStart{.iteration = iteration}));
    if (strategy_->traits().forward_hooks) {
      for (int layer = 0; layer < static_cast<int>(job.tensors.size()); ++layer) {
        note(tell(ForwardStart{.layer = layer}));
      }
    }
    for (const TensorId id : job.gradient_order) {
      note(tell(HookFired{.tensor = id}));
      note(end_all());
    }
    note(tell(BackwardDone{}));
    note(end_all());
    return texts;
  }

  /// "REDUCE 400", "PUSH t0 400 by 2", "host 3 SUM t0", "gate 4 7", "raise 4", "flag t0".
  static std::string text(const Operation& operation) {
    if (const auto* work = std::get_if<DeviceWork>(&operation)) return work->label;
    if (const auto* call = std::get_if<Collective>(&operation)) {
      return call->label + " " + std::to_string(call->size.count());
    }
    if (const auto* message = std::get_if<Messages>(&operation)) {
      return message->label + " " + std::to_string(message->size.count()) + " by " +
             std::to_string(message->exchange);
    }
    if (const auto* host = std::get_if<HostWork>(&operation)) {
      return "host " + std::to_string(host->thread) + " " + host->label;
    }
    if (const auto* gate = std::get_if<Gate>(&operation)) {
      std::string line = "gate";
      for (const OperationId id : gate->until) line += " " + std::to_string(id);
      return line;
    }
    if (const auto* flag = std::get_if<Flag>(&operation)) return "flag " + flag->label;
    if (const auto* raise = std::get_if<Raise>(&operation)) {
      return "raise " + std::to_string(raise->flag);
    }
    return "update";
  }

 private:
  static bool ends_by_itself(const Operation& operation) {
    if (const auto* work = std::get_if<DeviceWork>(&operation)) {
      return work->notify || work->stream == DeviceStream::side;
    }
    return std::holds_alternative<Collective>(operation) ||
           std::holds_alternative<Messages>(operation) ||
           std::holds_alternative<HostWork>(operation);
  }

  Strategy* strategy_;
  Operations log_;
  std::deque<OperationId> under_way_;
};

}  // namespace gradwire::test
