#pragma once

#include <deque>
#include <map>
#include <optional>

#include "sim/core/sharding_hooks.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/poster.hpp"
#include "strategies/sharded/fsdp_units.hpp"
#include "strategies/sharded/host_offload.hpp"
#include "strategies/sharded/issue_order.hpp"

namespace gradwire {

/// What each rank keeps a share of only.
enum class Sharding : std::uint8_t {
  none,           ///< NO_SHARD: nothing
  optimizer,      ///< ZeRO-1: the optimizer's state
  shard_grad_op,  ///< SHARD_GRAD_OP, ZeRO-2: and gradients; parameters from backward to forward
  full_shard,     ///< FULL_SHARD, ZeRO-3: and parameters
};
/// When the parameters of the unit before are gathered in backward.
enum class BackwardPrefetch : std::uint8_t {
  none,           ///< when its backward comes
  backward_pre,   ///< before the present unit's backward
  backward_post,  ///< after it
};

/// Islands of machines that train apart, each a replica, and meet every few steps.
struct OuterSteps {
  int sync_every = 0;  ///< optimizer steps from one outer step to the next; 0: there are none
  int islands = 2;
};

/// What DeepSpeed's stage 3 keeps of gathered parameters, and gathers early: elements.
struct LiveParameters {
  std::int64_t prefetch = 0;    ///< ahead of a unit, at least; 0: none
  std::int64_t most = 0;        ///< that are there at once, for prefetching to go on
  std::int64_t reuse = 0;       ///< a unit is kept that is used again within so many
  std::int64_t persistent = 0;  ///< tensors of at most so many are never sharded
};

/// Knobs of torch.distributed.fsdp.FullyShardedDataParallel under their own names.
struct FsdpOptions {
  Sharding sharding = Sharding::full_shard;
  bool hybrid = false;         ///< shards within groups of `shard_degree` ranks, which are replicas
  int shard_degree = 0;        ///< 0: the ranks of a machine
  bool per_parameter = false;  ///< FSDP2: every parameter is sharded along its first dimension
  /// FSDP2, a shard_placement_fn: a parameter is sharded along the first dimension that the ranks
  /// divide, where there is one; false: along the first, padded to the ranks.
  bool even_shards = false;
  /// FSDP2, reshard_after_forward as a number: parameters are gathered for backward within groups
  /// of so many ranks; 0: within those that shard them.
  int backward_degree = 0;
  OuterSteps outer{};
  WrapPolicy wrap = WrapPolicy::block;
  Bytes unit_size{400'000'000};  ///< of WrapPolicy::size_based
  BackwardPrefetch backward_prefetch = BackwardPrefetch::backward_pre;
  bool forward_prefetch = false;
  int forward_modules = 1;  ///< that are prefetched in forward
  bool limit_all_gathers = true;
  bool no_sync = true;            ///< earlier backward passes of a step only accumulate
  std::int64_t param_bytes = 4;   ///< of an element of gathered parameters
  std::int64_t reduce_bytes = 4;  ///< of an element of reduced gradients
  /// Of an element of the shard that is gathered: another type is cast. 2: the model is in two
  /// bytes; DeepSpeed's optimizer has its copy in fp32.
  std::int64_t stored_bytes = 4;
  HostOffloadOptions offload{};
  std::optional<LiveParameters> live{};  ///< in place of prefetches and limit_all_gathers
  /// Of an element of gradients that every micro-batch's reduction brings from host memory and
  /// takes back there, to be added to; 0: none (DeepSpeed).
  std::int64_t accumulated_bytes = 0;
  /// Elements of gradients that are kept for one reduction; 0: every unit's by itself (DeepSpeed).
  std::int64_t reduce_bucket_size = 0;
  // Of the thread that launches, in each direction.
  Seconds hook_time{};         ///< a unit's hooks
  Seconds tensor_hook_time{};  ///< and those of each of its tensors
  bool hooks_again = false;    ///< the tensors' also where backward runs a layer's forward again
};

/// PyTorch FullyShardedDataParallel, ZeRO-1 to 3, and hybrid sharding.
///
/// Parameters of a unit are all-gathered before its forward and, with FULL_SHARD, again before its
/// backward; compute waits for them. The root's are gathered first and kept until its last gradient
/// is there. Prefetching issues the next unit's all-gather early. With limit_all_gathers a third
/// all-gather waits until the oldest unit has been freed on the GPU. Gradients of a unit are
/// concatenated, divided and reduce-scattered when the last of them is there. All collectives of
/// the process group share NCCL's one stream: they run in the order in which the host issued them,
/// so an all-gather issued behind a reduce-scatter waits for backward (the reason to prefetch).
/// The optimizer updates a shard. Before the first all-gather of an iteration the optimizer step
/// of the last has ended on every rank.
///
/// Hybrid: all of this within each machine, or each group of `data_parallel_shard_degree` ranks
/// that follow each other; the reduced shard is then all-reduced across these on a stream of its
/// own.
///
/// FSDP2 (torch.distributed.fsdp.fully_shard) shards each parameter along its first dimension,
/// padded to the ranks; no flat parameter. A gather is fed by one kernel that copies, and casts,
/// the shards, and one on the compute stream copies its result into the parameters; one kernel
/// copies, and casts, gradients into the reduce-scatter's input, which averages by itself
/// (ReduceOp.AVG; torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_all_gather,
/// foreach_all_gather_copy_out, foreach_reduce; from memory). What is sharded along another
/// dimension is copied once more each way, there (torch.chunk and torch.cat). That the next gather
/// waits until the last but one is copied out is taken as limit_all_gathers.
///
/// With parameters in host memory (CPUOffload(offload_params=True), CPUOffloadPolicy) a shard is
/// copied to the GPU before it is cast and gathered, its reduced gradient to the host, and the
/// optimizer's step waits for all of these (_post_backward_final_callback). Copies to memory that
/// is not page-locked are synchronous: backward waits for them.
///
/// The hooks are Python: around a unit's forward and backward they hold up the thread that launches
/// kernels (ShardingHooks), of which models whose kernels are long see nothing.
///
/// DiLoCo: the groups are islands, no gradient leaves them; every `sync_every` optimizer steps each
/// rank subtracts its shard from what it was at the last such step, these differences are averaged
/// over the islands in fp32, and an outer SGD with Nesterov's momentum makes of their mean the
/// shard that all go on with. Everybody waits for it. Douillard et al., DiLoCo, arXiv 2311.08105,
/// algorithm 1; names of torchft.local_sgd.DiLoCo.
///
/// ZeRO-1: gradients are reduce-scattered in the last backward pass, and the updated parameters
/// all-gathered after the step, which the next iteration waits for. NO_SHARD: all-reduces.
/// One rank: NO_SHARD, as PyTorch falls back to it (from memory).
///
/// Source: torch/distributed/fsdp/_runtime_utils.py of PyTorch 2.0 (_unshard, _pre_forward_unshard,
/// _post_forward_reshard, _pre_backward_hook, _post_backward_hook, _get_handles_to_prefetch),
/// _limiter_utils.py, _exec_order_utils.py, algorithms/_comm_hooks/default_hooks.py; the separate
/// all-reduce stream is that of 2.1 on (from memory). One stream a process group: Zhao et al.,
/// PyTorch FSDP, VLDB 2023, section 3.3.2. ZeRO-1: Rajbhandari et al., ZeRO, SC 2020, section 7.1.
/// The concatenation of gradients is what autograd does for the views of a flat parameter (from
/// memory).
class Fsdp final : public Strategy {
 public:
  /// @throws SimulationError of a hybrid job whose machines have different numbers of ranks.
  Fsdp(const FsdpOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs, const ShardingHooks& hooks);
  static StrategyMaker read_hybrid(Knobs& knobs, const ShardingHooks& hooks);
  static StrategyMaker read_fully_shard(Knobs& knobs, const ShardingHooks& hooks);
  static StrategyMaker read_diloco(Knobs& knobs, const ShardingHooks& hooks);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Holding holding() const override;
  /// "uneven-shards" where FSDP2's padding makes more than a tenth of what is gathered.
  [[nodiscard]] std::vector<Warning> warnings() const override;
  [[nodiscard]] std::vector<GroupFamily> families() const override { return families_; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] Phasing phasing() const override;

 private:
  using Ticket = IssueOrder::Ticket;

  struct Unit : FsdpUnit {
    std::int64_t padded = 0;    ///< elements, a multiple of the ranks that share it
    std::int64_t across = 0;    ///< FSDP2: of these, sharded along another than the first dimension
    int across_tensors = 0;     ///< that have those
    std::int64_t gathered = 0;  ///< of these, those that are gathered: without persistent ones
    bool kept = false;          ///< from forward to backward
    std::size_t again = 0;      ///< tensors whose hooks backward runs twice
    bool unsharded = false;     ///< as the host sees it: the all-gather is issued
    bool in_forward = false;    ///< between its pre- and its post-forward hook
    int missing = 0;            ///< gradients not yet there in this backward pass
    std::optional<Ticket> gather;  ///< the last one issued
    bool copied_out = false;       ///< FSDP2: into the parameters, since it was gathered
    int reductions = 0;            ///< that have ended in this step
  };
  /// An all-gather that has not ended.
  struct Gather {
    std::size_t unit = 0;
    OperationId operation = -1;  ///< once it was posted
    OperationId flag = -1;       ///< where something waits for it from before
  };
  /// Elementwise kernels that are launched one after the other.
  struct Kernels {
    int count = 0;
    Bytes traffic{0};
    void add(std::int64_t bytes) {
      ++count;
      traffic += Bytes{bytes};
    }
  };

  /// The end of a backward pass waits for all reductions so far. The host may have posted the next
  /// passes' by then.
  struct Wait {
    std::int64_t reductions = 0;
    OperationId flag = -1;
  };

  /// Streams of collectives: the process group's one, and that across machines.
  static constexpr int group_stream = 1;
  static constexpr int across_stream = 2;

  [[nodiscard]] bool gathers() const;
  [[nodiscard]] std::int64_t shard(const Unit& unit) const { return unit.padded / ranks_; }
  /// Elements that a rank updates.
  [[nodiscard]] std::int64_t own(const Unit& unit) const {
    return options_.sharding == Sharding::none ? unit.elements : shard(unit);
  }
  [[nodiscard]] std::int64_t own() const;
  /// Of the model, what the rank keeps that keeps most: FSDP2's first, whose shards are whole.
  /// REQUIRES: it is sharded.
  [[nodiscard]] double share() const;
  [[nodiscard]] Holding on_gpu() const;
  /// Gathered elements that are there at once, beside the root's. REQUIRES: options_.live.
  [[nodiscard]] std::int64_t live_at_once() const;
  /// Tells units' persistent tensors from what is gathered, and which are kept.
  void plan_live();
  void form_groups();
  /// Ranks clip gradients of which each holds shards.
  [[nodiscard]] bool adds_norms() const {
    return job_.clips_gradients && options_.sharding != Sharding::none;
  }
  [[nodiscard]] bool replicates() const {
    return options_.hybrid && options_.outer.sync_every == 0;
  }
  [[nodiscard]] std::int64_t padded(const FsdpUnit& unit) const;
  /// FSDP2: of one parameter.
  [[nodiscard]] std::int64_t padded(const TensorInfo& tensor) const;
  /// FSDP2: is it sharded along another dimension than the first?
  [[nodiscard]] bool lies_across(const TensorInfo& tensor) const;
  [[nodiscard]] Collective gather_of(const Unit& unit, bool in_backward) const;
  [[nodiscard]] Collective reduction_of(const Unit& unit) const;

  void forward_hook(const ForwardStart& event);
  void backward_hook(const BackwardStart& event);
  void begin_pass(int micro_batch);
  /// The thread that launches runs a unit's hooks.
  void run_hooks(std::size_t tensors);
  void pre_forward(std::size_t index);
  void post_forward(Unit& unit);
  void pre_backward(std::size_t index);
  void post_backward(std::size_t index, int micro_batch);
  void prefetch_before(std::size_t index);
  /// DeepSpeed's stage 3: what comes next in the trace of an iteration.
  void prefetch_live(std::size_t index);
  void gather_persistent();
  void backward_done(int micro_batch);
  void wait_for_reductions();

  OperationId marker(const char* label, Poster::Then then = {});
  void unshard(std::size_t index);
  /// Holds compute until it is gathered.
  void wait_for(Unit& unit);
  void gate_for(const Unit& unit);
  void reshard(Unit& unit);
  [[nodiscard]] bool casts() const {
    return options_.param_bytes != options_.stored_bytes || options_.per_parameter;
  }
  [[nodiscard]] bool fetches() const { return host_ && host_->has_parameters(); }
  /// Copies a shard from host memory and casts it, as far as either has to be.
  void prepare_shard(std::size_t index, Ticket ticket);
  void cast_shard(std::size_t index, Ticket ticket);
  /// Reduces a unit, or puts it into the bucket.
  void collect(std::size_t index);
  void flush_bucket();
  void reduce(std::size_t index);
  void gather_updated();
  void outer_step();

  void operation_ended(OperationId operation);
  void gathered(Ticket ticket);
  /// A unit's reduce-scatter, or all-reduce of NO_SHARD, has ended.
  void reduced(std::size_t unit);
  /// The shard is divided: all-reduces it across machines.
  void replicate(std::size_t unit);
  /// Divides and casts the result, which is then there for the optimizer.
  void finish(std::size_t unit);
  void copy_to_host(std::size_t index);
  void count_reduction();
  /// Runs them beside compute and goes on with `then`; at once where there are none.
  void run_beside(const Kernels& kernels, const char* label, Poster::Then then);
  [[nodiscard]] Kernels preparation(const Unit& unit) const;
  [[nodiscard]] Kernels division_of_shard(const Unit& unit) const;
  [[nodiscard]] Kernels finishing(const Unit& unit) const;
  void start_collectives();

  FsdpOptions options_;
  JobView job_;
  std::vector<Unit> units_;
  std::vector<std::size_t> unit_of_;  ///< by tensor
  std::int64_t live_ = 0;             ///< elements gathered, as the host sees it
  std::int64_t persistent_ = 0;       ///< elements that every rank has whole
  std::int64_t ranks_ = 1;            ///< that share a unit
  std::int64_t replicas_ = 1;         ///< groups of those, where hybrid
  std::vector<GroupFamily> families_;
  FamilyId group_ = families::all;      ///< that shares a unit
  FamilyId across_ = families::across;  ///< replicas of a shard
  FamilyId backward_ = families::all;   ///< that a unit is gathered in for backward
  Poster out_;
  std::optional<HostOffload> host_;
  IssueOrder order_;
  std::map<Ticket, Gather> gathers_;
  std::map<Ticket, std::size_t> reductions_;  ///< issued, not yet posted: of which unit
  std::deque<OperationId> frees_;             ///< markers behind which units were freed
  OperationId start_ = -1;                    ///< marker: the last optimizer step has ended
  bool started_ = true;                       ///< it has been passed
  std::vector<std::pair<std::size_t, Ticket>> waiting_shards_;
  int iteration_ = 0;
  bool in_backward_ = false;
  std::int64_t reductions_issued_ = 0;  ///< of a unit's gradients, since the first iteration
  std::int64_t reduced_ = 0;            ///< those that have ended; they end in order
  std::deque<Wait> waits_;              ///< ends of backward passes, oldest first
  std::vector<std::size_t> bucket_;     ///< units of options_.reduce_bucket_size
  OperationId updated_ = -1;            ///< flag of ZeRO-1: all parameters are gathered
};

}  // namespace gradwire
