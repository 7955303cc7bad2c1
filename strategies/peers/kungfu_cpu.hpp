#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/peers/kungfu_control.hpp"
#include "strategies/peers/kungfu_session.hpp"

namespace gradwire {

/// What KungFu's monitoring optimizers compute beside synchronous SGD, behind the all-reduces and
/// before the update.
struct KungfuMonitor {
  enum class Kind : std::uint8_t {
    none,
    /// Of each GPU's own gradients and of their mean the norm: both are fused into one tensor
    /// (read, written), squared (read, written) and summed (read).
    noise_scale,
    /// Every gradient is squared (read, written), and its squares are all-reduced as well; of their
    /// mean (2) the mean's square (2) is taken (3), squared (2) and summed (1).
    variance,
  };
  Kind kind = Kind::none;
  int interval = 1;  ///< iterations
};

/// KungFu's synchronous optimizers over CPU collectives: model averaging up to an iteration, from
/// there on gradients.
///
/// Averaging (SynchronousAveragingOptimizer): the all-reduce of every variable starts with the
/// iteration and overlaps it; behind backward the averages are assigned, v = (1 - a) v + a mean,
/// and the optimizer follows. Gradients (SynchronousSGDOptimizer): a gradient's all-reduce starts
/// when it is ready on every rank; the optimizer waits for all (KungFu's apply of a variable waits
/// for its own only; the difference is within the optimizer's own time). At the change every
/// variable is broadcast once, and the iteration waits (AdaptiveSGDOptimizer).
///
/// With a config server every iteration but the first begins with KungfuControl::check; a change of
/// workers comes before the first one.
///
/// Source: lsds/KungFu, srcs/python/kungfu/tensorflow/optimizers/{sync_sgd,sma_sgd,ada_sgd,
/// grad_noise_scale,grad_variance}.py.
class KungfuCpu final : public StepStrategy {
 public:
  static constexpr int always = std::numeric_limits<int>::max();

  /// @param change_step  first iteration that reduces gradients; 0: all do, always: none does.
  /// @param monitor  of iterations that reduce gradients. REQUIRES: without a change_step of its
  /// own
  ///                 (0 or always) where there is a config server or a change of workers.
  KungfuCpu(const KungfuSessionOptions& options, const JobView& job, int change_step,
            const KungfuMonitor& monitor = {});

  [[nodiscard]] Traits traits() const override {
    const bool averages = change_step_ > 0;
    return {.dynamic = true, .exactness = averages ? Exactness::stale : Exactness::exact};
  }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return session_.exchanges(); }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Phasing phasing() const override {
    // The iteration of the change itself broadcasts.
    const bool changes = change_step_ > 0 && change_step_ < always;
    const bool monitors = monitor_.kind != KungfuMonitor::Kind::none;
    return {.steady_from = changes ? change_step_ + 1 : 0,
            .period = monitors ? monitor_.interval : 1};
  }

 private:
  void begin(int iteration, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  /// The iteration's collectives that need no gradient.
  void start_collectives();
  /// What comes before the iteration.
  [[nodiscard]] std::vector<KungfuControl::Step> control_steps() const;
  void gradient_ready(TensorId tensor);
  /// All-reduces of this iteration.
  [[nodiscard]] std::size_t collectives_of_gradients() const;
  [[nodiscard]] bool monitors(KungfuMonitor::Kind kind) const {
    return monitor_.kind == kind && iteration_ % monitor_.interval == 0;
  }
  /// A collective of every tensor; `of` counts them.
  void start_all(KungfuSession::Kind kind, Outstanding& of);
  [[nodiscard]] bool averages() const { return iteration_ < change_step_; }

  int change_step_;
  KungfuMonitor monitor_;
  Bytes model_{0};
  Bytes part_;
  bool config_server_;
  KungfuSession session_;
  KungfuControl control_;
  int iteration_ = 0;
  Outstanding reduced_;    ///< all-reduces of this iteration
  Outstanding broadcast_;  ///< variables, at the change
};

}  // namespace gradwire
