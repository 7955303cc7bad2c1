#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/sharding_hooks.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/poster.hpp"
#include "strategies/sharded/host_offload.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Knobs of DeepSpeed's `zero_optimization` under their own names.
struct DeepSpeedOptions {
  int stage = 1;
  std::int64_t reduce_bucket_size = 500'000'000;     ///< elements
  std::int64_t allgather_bucket_size = 500'000'000;  ///< elements
  bool overlap_comm = false;
  bool reduce_scatter = true;
  bool use_multi_rank_bucket_allreduce = true;  ///< false: each rank's share is reduced to it
  HostOffloadOptions offload{};
  /// Of the thread that launches: a tensor's Python in backward, and in the step of a partition.
  Seconds hook_time{};
};

/// DeepSpeed's ZeRO of stages 1 and 2.
///
/// Hooks copy gradients into one buffer; the gradient that would overflow it has what is there
/// divided by the ranks and reduced first. With `reduce_scatter` the shares of all ranks are
/// concatenated, all-reduced, and each rank copies its own (left out here): releases before that
/// (and `use_multi_rank_bucket_allreduce: false`) reduce each share to its rank, taken as one
/// reduce-scatter. Without it the buffer is all-reduced as it is. Compute waits for the reduction;
/// with `overlap_comm` it fills a second buffer meanwhile, and waits when that is full for what was
/// reduced before. Stage 2 reduces in every micro-batch, since a rank keeps gradients of its
/// partition only; stage 1 in the last one, and without overlap_comm behind its backward: it
/// registers no hooks. The optimizer updates a partition, whose parameters are then all-gathered,
/// `allgather_bucket_size` elements at a time, before the next forward. Python takes the thread
/// that launches for every tensor that is reduced, and in the step for each that the partition has
/// some of (ShardingHooks): of the rank that has most of them.
///
/// Gradients and parameters travel in the type of the gradients (`gradient_dtype`); of two bytes,
/// the model is in that type and the optimizer's partition has it in fp32.
///
/// With `offload_optimizer: cpu` a partition's gradients, cast to fp32, are copied to the host
/// behind their reduction; earlier micro-batches' are kept there in the model's type, and go to the
/// GPU and back to be added to. The host divides them by the loss scale, updates the partition and
/// casts it, and it is copied to the GPU before the all-gathers. Copies from and to memory that is
/// not page-locked are synchronous, so that compute waits for them.
/// Source: stage_1_and_2.py (async_accumulate_grad_in_cpu_via_gpu,
/// async_inplace_copy_grad_to_fp32_buffer_from_gpu, step); Ren et al., ZeRO-Offload, USENIX ATC
/// 2021.
///
/// Stage 3 is Fsdp with a unit a block in this type: DeepSpeed gathers submodule by submodule
/// (assumed to be alike). Gradients are reduce-scattered when the next would overflow
/// `reduce_bucket_size`, and at the end of backward: here the blocks of a bucket one after the
/// other, there all at once. Ahead of a block it gathers what comes next in the trace of an
/// iteration, at least stage3_prefetch_bucket_size elements unless stage3_max_live_parameters are
/// there; a block that is used again within stage3_max_reuse_distance elements is not freed, which
/// keeps the last ones from forward to backward; small tensors are never sharded. Its Python takes
/// the thread that launches for every tensor (ShardingHooks), also in a forward that backward runs
/// again for a checkpoint: hooks are of the submodules. Source: partitioned_param_coordinator.py
/// (fetch_sub_module, __params_to_release), stage3.py
/// (reduce_independent_p_g_buckets_and_remove_grads, independent_gradient_partition_epilogue,
/// _post_step).
///
/// Source: deepspeed/runtime/zero/stage_1_and_2.py
/// (reduce_independent_p_g_buckets_and_remove_grads, reduce_ipg_grads,
/// create_gradient_handling_hooks, average_tensor, allreduce_and_scatter) @7dee2e061c20, with
/// dist.reduce of each share @cde57d294c3c (2023); the maintainers on it: GitHub
/// deepspeedai/DeepSpeed issues 5758, 7059 and 8364, pull request 4946. deepspeed/runtime/utils.py
/// (all_gather_dp_groups), from memory; defaults: deepspeed/runtime/zero/config.py. Rajbhandari et
/// al., ZeRO, SC 2020, section 5.
class DeepSpeedZero final : public Strategy {
 public:
  /// REQUIRES: stage 1 or 2, bucket sizes above 0.
  DeepSpeedZero(const DeepSpeedOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs, const ShardingHooks& hooks);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override {
    return {.dynamic = host_.has_value(), .own_optimizer = true};
  }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Holding holding() const override;

 private:
  [[nodiscard]] bool reduces(int micro_batch) const {
    return options_.stage > 1 || job_.synchronises(micro_batch);
  }
  [[nodiscard]] bool has_hooks() const { return options_.stage > 1 || options_.overlap_comm; }
  [[nodiscard]] std::int64_t padded(std::int64_t elements) const;
  /// Is what the ranks are to have summed for each, and not for all?
  [[nodiscard]] bool scatters() const {
    return options_.reduce_scatter && !options_.use_multi_rank_bucket_allreduce;
  }
  [[nodiscard]] Collective reduction_of(const PlanGroup& bucket) const;
  /// Elements of each all-gather of updated parameters.
  [[nodiscard]] std::vector<std::int64_t> gathers() const;

  [[nodiscard]] std::int64_t partition() const { return padded(elements_) / job_.world_size; }
  /// Tensors of which a rank's partition has some, the most of any rank.
  [[nodiscard]] int tensors_of_partition() const;

  void run_python(int tensors);
  void add(TensorId tensor, int micro_batch);
  /// Reduces what is in the bucket.
  void flush(int micro_batch);
  /// @return what ends when the reduced gradients are where the optimizer reads them.
  OperationId reduce(int micro_batch);
  void step();

  DeepSpeedOptions options_;
  JobView job_;
  std::int64_t elements_ = 0;  ///< of the model
  Poster out_;
  std::optional<HostOffload> host_;
  PlanGroup bucket_;
  std::vector<OperationId> in_flight_;
};

}  // namespace gradwire
