#pragma once

#include <vector>

#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/peers/kungfu_session.hpp"

namespace gradwire {

/// KungFu's sync-sgd-nccl: an all-reduce a gradient, in the order of the tensors' names; or one of
/// all gradients, copied together. The optimizer waits for all.
/// Source: lsds/KungFu, python ops/collective.py:100-110; sync_sgd.py (nccl_fusion).
class KungfuNccl final : public StepStrategy {
 public:
  /// @param fusion  one all-reduce of all gradients.
  KungfuNccl(const JobView& job, bool fusion);

  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void begin(int iteration, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void reduce(const PlanGroup& group);

  bool fusion_;
  GradientGroups order_;
  Outstanding reduced_;
};

/// KungFu's sync-sgd-hierarchical-nccl, for each gradient: NCCL reduce to the first GPU of the
/// machine, all-reduce between these through the hosts' CPUs, NCCL broadcast in the machine. The
/// reduces go in the order of the names, and so do the broadcasts. The optimizer waits for all.
/// Source: lsds/KungFu, python ops/collective.py:113-137; session/strategy.go
/// (genCrossStrategyList: a ring where RING is asked for, else a binary tree).
class KungfuHierarchical final : public StepStrategy {
 public:
  KungfuHierarchical(const KungfuSessionOptions& options, const JobView& job);

  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return session_.exchanges(); }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void begin(int iteration, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void reduce(TensorId tensor);
  void broadcast(TensorId tensor);
  /// A collective within the machine.
  void collective(CollectiveKind kind, int stream, TensorId tensor, Poster::Then then);

  KungfuSession session_;
  GradientGroups reduces_;
  GradientGroups broadcasts_;
  Outstanding broadcast_;
};

}  // namespace gradwire
