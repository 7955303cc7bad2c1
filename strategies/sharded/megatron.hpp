#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/gradient_groups.hpp"
#include "strategies/parts/operation_writer.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Knobs of Megatron-LM under their own names.
struct MegatronOptions {
  bool use_distributed_optimizer = true;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  std::int64_t ddp_bucket_size = 0;  ///< parameters; 0: megatron_bucket_size()
  bool ddp_average_in_collective = false;
  bool ddp_pad_buckets_for_high_nccl_busbw = false;
  bool gradient_accumulation_fusion = true;
  std::int64_t parameter_bytes = gradient_element_size;  ///< of the model, and of its gradients
  std::int64_t reduce_bytes = gradient_element_size;     ///< of the buffer of gradients
};

/// Parameters of a bucket by default.
[[nodiscard]] constexpr std::int64_t megatron_bucket_size(int ranks) {
  constexpr std::int64_t least = 40'000'000;
  constexpr std::int64_t a_rank = 1'000'000;
  return std::max(least, a_rank * ranks);
}

/// Megatron-LM's DistributedDataParallel, with or without its distributed optimizer (ZeRO-1), for
/// data-parallel ranks alone.
///
/// Gradients are accumulated in one buffer, in the reverse order of the parameters, cut into
/// buckets behind the parameter with which one is full. With `overlap_grad_reduce` a bucket is
/// scaled and reduced in the last micro-batch once all its gradients are there; else there is one
/// bucket, reduced behind backward while compute waits. The distributed optimizer reduce-scatters
/// buckets padded to a multiple of the ranks and 128, updates its shards and all-gathers parameters
/// bucket by bucket: at once, compute waiting, or with `overlap_param_gather` in the next forward,
/// where a layer waits for its bucket and issues the gather of the next one. The buffer is zeroed
/// before an iteration.
///
/// A weight's gradient is added to the buffer by a kernel, that of a matrix by the product itself
/// with `gradient_accumulation_fusion`. The check for NaN is left out.
///
/// Source: Megatron-LM, megatron/core/distributed/distributed_data_parallel.py,
/// param_and_grad_buffer.py (start_grad_sync, start_param_sync, finish_param_sync),
/// distributed_data_parallel_config.py, core/optimizer/distrib_optimizer.py; from memory.
class Megatron final : public Strategy {
 public:
  Megatron(const MegatronOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override {
    return {.forward_hooks = options_.overlap_param_gather, .own_optimizer = true};
  }
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Holding holding() const override;

 private:
  [[nodiscard]] std::int64_t padded(std::int64_t elements) const;
  [[nodiscard]] std::int64_t buffer_elements() const;
  [[nodiscard]] Collective reduction_of(std::size_t bucket) const;
  [[nodiscard]] Collective gather_of(std::size_t bucket) const;

  void accumulate(TensorId tensor);
  void reduce(std::size_t bucket);
  void gather(std::size_t bucket);
  /// Forward needs this bucket's parameters.
  void finish_gather(std::size_t bucket);
  void step();

  MegatronOptions options_;
  JobView job_;
  GradientGroups buckets_;
  std::vector<std::vector<std::size_t>> buckets_of_layer_;
  OperationWriter out_;
  std::vector<OperationId> reductions_;  ///< that compute has not waited for
  std::vector<OperationId> gathers_;     ///< by bucket: in flight; -1: not issued; -2: done
};

}  // namespace gradwire
