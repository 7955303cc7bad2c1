#pragma once

#include <cstdint>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"
#include "strategies/parts/window_queue.hpp"

namespace gradwire {

/// Knobs of apex.parallel.DistributedDataParallel under their own names.
struct ApexDdpOptions {
  std::int64_t message_size = 10'000'000;  ///< elements; a bucket has at least so many
  bool delay_allreduce = false;            ///< one all-reduce behind backward
  int num_allreduce_streams = 1;           ///< buckets take them in turns
  bool retain_allreduce_buffers = false;   ///< gradients become views of the buffer
  bool allreduce_always_fp32 = false;
  bool gradient_average = true;
  int gradient_predivide_factor = 1;
};

/// Apex's DistributedDataParallel. Its first backward pass writes down the order in which gradients
/// arrive, makes buckets of it, and reduces everything in one flat all-reduce at its end; from then
/// on a bucket is flattened by the compute stream as soon as its last gradient is there and all
/// earlier buckets have gone, and a stream beside it divides, reduces, divides and copies back, one
/// bucket after the other. The optimizer waits for all streams.
///
/// Buffers are not broadcast. All gradients are of one type.
/// Source: NVIDIA/apex, apex/parallel/distributed.py (create_hooks, allreduce_bucket,
/// allreduce_fallback, comm_ready_buckets, sync_bucket_structure).
class ApexDdp final : public StepStrategy {
 public:
  ApexDdp(const ApexDdpOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override { return {.dynamic = true}; }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  [[nodiscard]] bool delays() const { return options_.delay_allreduce || iteration_ == 0; }
  [[nodiscard]] Bytes reduced_size(const PlanGroup& group) const;
  /// Kernels before and after the all-reduce of a flat buffer; no kernels where nothing is to do.
  [[nodiscard]] DeviceWork before(const PlanGroup& group) const;
  [[nodiscard]] DeviceWork after(const PlanGroup& group) const;
  void begin(int iteration, WorkerId /*worker*/) override { iteration_ = iteration; }
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void flatten(std::size_t bucket);
  void start_next(std::size_t stream);
  /// What becomes of a flat bucket on its stream, in order.
  [[nodiscard]] Operations steps(std::size_t bucket, std::size_t stream) const;
  void reduce_all();

  ApexDdpOptions options_;
  PlanGroup all_;
  GradientGroups buckets_;
  std::vector<WindowQueue<std::size_t>> streams_;  ///< flat buckets, one of a stream under way
  int iteration_ = 0;
  Outstanding outstanding_;  ///< buckets of this iteration
};

}  // namespace gradwire
