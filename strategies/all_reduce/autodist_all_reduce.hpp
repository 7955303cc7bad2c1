#pragma once

#include <cstdint>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// Who carries TensorFlow's CollectiveReduce; `communication_hint` of AutoDist's specification.
enum class AllReduceSpec : std::uint8_t {
  nccl,  ///< on a stream of its own, behind the last gradient of the group
  /// TensorFlow's ring: its additions are kernels on the compute stream, behind all that was
  /// launched: the executor launches a whole backward pass ahead of the GPU.
  ring,
};

struct AutodistOptions {
  std::int64_t chunk_size = 128;
  AllReduceSpec spec = AllReduceSpec::nccl;
};

/// AutoDist's AllReduce (and Parallax, of a dense model): variables in the order of their creation,
/// `chunk_size` of them a group. TensorFlow's scoped allocator lets the gradients of a group be
/// written into one buffer, without a copy, and makes one all-reduce of them, which waits for the
/// last. The mean is taken by kernels behind it; the optimizer waits for all groups. Of a sparse
/// gradient indices and rows are gathered, by themselves. On one rank nothing is synchronised.
///
/// Source: petuum/autodist, strategy/all_reduce_strategy.py and
/// kernel/synchronization/all_reduce_synchronizer.py; TensorFlow, common_runtime/ring_reducer.cc
/// (ComputeBinOp runs the merge operation in the context of the collective's device).
class AutodistAllReduce final : public SharedStepStrategy {
 public:
  /// REQUIRES: options.chunk_size >= 1.
  AutodistAllReduce(const AutodistOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override { return {.exchanges_rows = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override {
    return groups_.all();
  }

 private:
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  /// Device traffic of the sums and the mean that are not NCCL's own.
  [[nodiscard]] Bytes summing(Bytes size) const;
  [[nodiscard]] bool sparse(const PlanGroup& group) const;
  void send(std::size_t group);

  AutodistOptions options_;
  GradientGroups groups_;                 ///< in the order of variables
  std::vector<std::size_t> complete_;     ///< groups whose gradients are launched, not sent yet
  std::vector<OperationId> all_reduces_;  ///< and all-gathers, of this iteration
};

}  // namespace gradwire
