#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "tests/train/three_layers.hpp"

namespace gradwire::test {

/// What a scripted strategy saw and may post.
struct Script {
  Traits traits{.dynamic = true};
  std::vector<CollectiveUse> collectives;
  std::vector<Exchange> exchanges;
  /// Answers an event; `next` is the id of the first operation it returns.
  std::function<Operations(const Event& event, OperationId next)> answer;
  std::vector<std::pair<OperationId, double>> ended;  ///< with the time of the event
};

class Scripted final : public Strategy {
 public:
  explicit Scripted(Script& script) : script_(script) {}

  Operations on_event(Seconds now, const Event& event) override {
    if (const auto* done = std::get_if<OperationDone>(&event)) {
      script_.ended.emplace_back(done->operation, now.count());
    }
    Operations operations = script_.answer(event, next_);
    next_ += static_cast<OperationId>(operations.size());
    return operations;
  }
  [[nodiscard]] Traits traits() const override { return script_.traits; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override {
    return script_.collectives;
  }
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return script_.exchanges; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }

 private:
  Script& script_;
  OperationId next_ = 0;
};

inline Fixture fixture(int ranks, double collective, Script& script) {
  return {ranks, collective,
          [&script](const JobView&) { return std::make_unique<Scripted>(script); }};
}

inline DeviceWork marker() {
  return {.kernels = 0, .label = "ready", .notify = true};
}
inline bool is_hook(const Event& event, TensorId tensor) {
  const auto* hook = std::get_if<HookFired>(&event);
  return hook != nullptr && hook->tensor == tensor;
}
inline bool is_done(const Event& event, OperationId id) {
  const auto* done = std::get_if<OperationDone>(&event);
  return done != nullptr && done->operation == id;
}
inline bool starts(const Event& event, int iteration) {
  const auto* start = std::get_if<IterationStart>(&event);
  return start != nullptr && start->iteration == iteration;
}
inline bool ends_backward(const Event& event) {
  return std::holds_alternative<BackwardDone>(event);
}

}  // namespace gradwire::test
