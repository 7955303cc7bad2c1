#pragma once

#include <deque>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/poster.hpp"

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
class ByteGrad final : public Strategy {
 public:
  ByteGrad(const ByteGradOptions& options, JobView job);
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  void start_iteration();
  void hook(TensorId tensor);
  void next();
  void run(std::size_t bucket, std::size_t step);
  /// What becomes of a bucket, in order.
  [[nodiscard]] std::vector<Operation> steps(const PlanGroup& bucket) const;
  /// n bytes and the range of each chunk.
  [[nodiscard]] Bytes wire_size(const PlanGroup& bucket) const;

  ByteGradOptions options_;
  JobView job_;
  bool in_machines_ = false;  ///< are there GPUs to sum before
  int talkers_ = 1;
  std::vector<PlanGroup> buckets_;      ///< sizes in fp32
  std::vector<std::size_t> bucket_of_;  ///< by tensor
  std::vector<int> missing_;            ///< gradients of a bucket not yet launched
  std::deque<std::size_t> ready_;       ///< buckets that wait for the one under way
  bool busy_ = false;
  std::size_t left_ = 0;  ///< buckets not yet over
  OperationId over_ = 0;  ///< flag
  Poster poster_;
};

}  // namespace gradwire
