#pragma once

#include <memory>
#include <vector>

#include "strategies/all_reduce/tf_ring.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// tf.distribute.experimental.CommunicationOptions. `timeout_seconds` changes no time.
struct TfCollectiveOptions {
  bool nccl = false;        ///< `implementation`; false: RING, which AUTO is as well
  Bytes bytes_per_pack{0};  ///< a pack ends with the gradient that exceeds it; 0: one pack of all
  RemoteCalls calls{};      ///< of the ring, to other machines
};

/// TensorFlow 2's tf.distribute.MultiWorkerMirroredStrategy (CollectiveAllReduce), a process a
/// machine: gradients in the reverse order of their variables, packed, are concatenated pack after
/// pack, all-reduced in that order by a token that each collective takes, and split. A pack's
/// variables are updated when it has been reduced, beside the packs behind it. On one rank nothing
/// is synchronised. Keras sums gradients; whoever asks for their mean divides them on top.
///
/// NCCL reduces a pack on a stream of its own, behind its last gradient. RING (TfRing) begins
/// behind all of backward: its copies and additions wait for the compute stream, and the executor
/// launches a whole backward pass ahead of the GPU (as AutodistAllReduce's). A pack of one gradient
/// is neither concatenated nor split. Of a sparse gradient (IndexedSlices) indices and rows are
/// gathered, behind all packs.
///
/// Source: tensorflow/python/distribute/cross_device_ops.py (CollectiveAllReduce._all_reduce),
/// cross_device_utils.py (group_by_size, CollectiveReplicaLauncher),
/// core/common_runtime/collective_param_resolver_local.cc (AssignCollectiveType: AUTO is the ring
/// unless the session asks for NCCL, which this strategy does not).
class TfCollectiveAllReduce final : public SharedStepStrategy {
 public:
  TfCollectiveAllReduce(const TfCollectiveOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override {
    return packs_.all();
  }

 private:
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void send(std::size_t pack);
  /// It is one of a sparse gradient's rows.
  [[nodiscard]] bool sparse(std::size_t pack) const;
  /// Elements that the optimizer steps, by which packs share its time.
  [[nodiscard]] std::int64_t stepped(std::size_t pack) const;
  /// @param flags  of the packs.
  void reduce_from(std::size_t pack, const std::vector<OperationId>& flags);

  TfCollectiveOptions options_;
  GradientGroups packs_;
  std::vector<OperationId> reduced_;  ///< of this iteration: what tells a pack's end
  std::unique_ptr<TfRing> ring_;      ///< null with NCCL
};

}  // namespace gradwire
