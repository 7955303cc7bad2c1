#pragma once

#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/parts/window_queue.hpp"

namespace gradwire {

struct ByteGradOptions {
  bool hierarchical = true;          ///< a machine's GPUs are summed first, one talks for all
  Bytes bucket{10LL * 1024 * 1024};  ///< BAGUA_DEFAULT_BUCKET_SIZE
  bool momentum = false;             ///< QAdam: the momentum is averaged, not the gradient
};

/// Bagua's ByteGrad: gradients as bytes, quantised between minimum and maximum, by scatter and
/// gather. Of a bucket that is ready: sum over the machine's GPUs to its first (NCCL, fp32); that
/// one quantises a chunk for each of the L machines; all-to-all of n bytes; it adds up its chunk of
/// every machine and quantises the mean; all-gather of n bytes; broadcast in the machine (fp32).
/// Buckets go one after the other beside backward; the optimizer waits for all.
///
/// QAdam after its warm-up is the same with Adam's first moment, which each GPU updates from its
/// own gradient when a bucket is ready.
///
/// On the wire of a machine: 2 (L-1)/L n bytes and 8 bytes a chunk, each way.
///
/// Source: Gan et al., BAGUA, VLDB 2021 (C_LP_S); BaguaSys/bagua,
/// torch_api/algorithms/{bytegrad,q_adam}.py and bagua-core-internal
/// comm_ops/centralized_low_precision_synchronous.rs.
class ByteGrad final : public StepStrategy {
 public:
  ByteGrad(const ByteGradOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override {
    return {.dynamic = true, .exactness = Exactness::lossy};
  }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void begin(int iteration, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId /*worker*/) override { poster_.post(Gate{.until = {averaged_.flag()}}); }
  void average_next();
  /// What becomes of a bucket, in order.
  [[nodiscard]] Operations steps(const PlanGroup& bucket) const;
  /// n bytes and the range of each chunk.
  [[nodiscard]] Bytes wire_size(const PlanGroup& bucket) const;

  ByteGradOptions options_;
  bool in_machines_ = false;  ///< are there GPUs to sum before
  int talkers_ = 1;
  GradientGroups buckets_;          ///< sizes in fp32
  WindowQueue<std::size_t> ready_;  ///< buckets, of which one is under way
  Outstanding averaged_;            ///< buckets of this iteration
};

}  // namespace gradwire
