#pragma once

#include <unordered_map>
#include <vector>

#include "strategies/peers/kungfu_session.hpp"
#include "strategies/peers/name_order.hpp"

namespace gradwire {

/// KungFu's sync-sgd-nccl: an all-reduce a gradient, in the order of the tensors' names; or one of
/// all gradients, copied together. The optimizer waits for all.
/// Source: lsds/KungFu, python ops/collective.py:100-110; sync_sgd.py (nccl_fusion).
class KungfuNccl final : public Strategy {
 public:
  /// @param fusion  one all-reduce of all gradients.
  KungfuNccl(JobView job, bool fusion);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void finish();
  void reduce(TensorId tensor);

  JobView job_;
  bool fusion_;
  NameOrder order_;
  std::size_t missing_ = 0;                            ///< all-reduces that have not ended
  OperationId all_there_ = 0;                          ///< flag
  std::unordered_map<OperationId, TensorId> ready_;    ///< markers
  std::unordered_map<OperationId, TensorId> reduced_;  ///< all-reduces
  OperationWriter writer_;
};

/// KungFu's sync-sgd-hierarchical-nccl, for each gradient: NCCL reduce to the first GPU of the
/// machine, all-reduce between these through the hosts' CPUs, NCCL broadcast in the machine. The
/// reduces go in the order of the names, and so do the broadcasts. The optimizer waits for all.
/// Source: lsds/KungFu, python ops/collective.py:113-137; session/strategy.go
/// (genCrossStrategyList: a ring where RING is asked for, else a binary tree).
class KungfuHierarchical final : public Strategy {
 public:
  KungfuHierarchical(const KungfuSessionOptions& options, JobView job);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return session_.exchanges(); }
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  enum class Stage : std::uint8_t { ready, reduced, broadcast };
  struct Pending {
    Stage stage = Stage::ready;
    TensorId tensor = 0;
  };

  void advance(OperationId operation);
  void post_collective(Stage stage, TensorId tensor);

  JobView job_;
  KungfuSession session_;
  NameOrder reduces_;
  NameOrder broadcasts_;
  std::size_t missing_ = 0;    ///< tensors not yet broadcast
  OperationId all_there_ = 0;  ///< flag
  std::unordered_map<OperationId, Pending> pending_;
  OperationWriter writer_;
};

}  // namespace gradwire
