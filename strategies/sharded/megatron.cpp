#include "strategies/sharded/megatron.hpp"

#include <cassert>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "strategies/sharded/clipping.hpp"

namespace gradwire {
namespace {

constexpr OperationId not_issued = -1;
constexpr OperationId gathered_operation = -2;

/// Elements that a bucket of the distributed optimizer is a multiple of, with the ranks.
/// (Parameters begin at multiples of 64: left out.)
constexpr std::int64_t bucket_multiple = 128;
constexpr std::int64_t busbw_multiple = 65536;

constexpr std::int64_t up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

TensorGroups buckets_of(const MegatronOptions& options, const JobView& job) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  if (options.overlap_grad_reduce) {
    least = options.ddp_bucket_size > 0 ? options.ddp_bucket_size
                                        : megatron_bucket_size(job.world_size);
  }
  const auto order = reverse_registration_order(static_cast<int>(job.tensors.size()));
  TensorGroups groups;
  for (const PlanGroup& group : cut_into_groups(job, order, [least](const auto&cut, TensorId) {
         return cut.back().elements >= least;
       })) {
    groups.push_back(group.tensors);
  }
  return groups;
}

std::string megatron_origin(const std::string& what) {
  return "Megatron-LM, megatron/training/arguments.py; " + what;
}

}  // namespace

Megatron::Megatron(const MegatronOptions& options, const JobView& job)
    : options_(options),
      job_(job),
      buckets_(job, buckets_of(options, job)),
      buckets_of_layer_(job.layers.size()),
      gathers_(buckets_.size(), gathered_operation) {
  assert(!options.overlap_param_gather ||
         (options.use_distributed_optimizer && options.overlap_grad_reduce));
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const TensorId id : buckets_[b].tensors) {
      const auto layer = static_cast<std::size_t>(job.tensor(id).layer);
      if (layer >= buckets_of_layer_.size()) buckets_of_layer_.resize(layer + 1);
      auto& needed = buckets_of_layer_[layer];
      if (std::ranges::find(needed, b) == needed.end()) needed.push_back(b);
    }
  }
}

StrategyMaker Megatron::read(Knobs& knobs) {
  static const std::vector<std::string> dtypes = {"fp32", "fp16", "bf16"};
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  MegatronOptions options;
  knobs.read(
      "use_distributed_optimizer", options.use_distributed_optimizer,
      megatron_origin("whose default is false; each rank updates its shards of the buckets"));
  knobs.read("overlap_grad_reduce", options.overlap_grad_reduce,
             megatron_origin("buckets are reduced beside the last micro-batch's backward"));
  knobs.read("overlap_param_gather", options.overlap_param_gather,
             megatron_origin("buckets are gathered beside the next forward; with "
                             "use_distributed_optimizer and overlap_grad_reduce"));
  options.ddp_bucket_size =
      knobs.count("ddp_bucket_size", options.ddp_bucket_size, 0, most,
                  megatron_origin("parameters; 0: the larger of 40e6 and 1e6 a rank; of "
                                  "overlap_grad_reduce, without which there is one bucket"));
  knobs.read("ddp_average_in_collective", options.ddp_average_in_collective,
             megatron_origin("false: a kernel scales a bucket before it is reduced"));
  knobs.read("ddp_pad_buckets_for_high_nccl_busbw", options.ddp_pad_buckets_for_high_nccl_busbw,
             megatron_origin("buckets are padded to a multiple of 2^16, too"));
  knobs.read("gradient_accumulation_fusion", options.gradient_accumulation_fusion,
             megatron_origin("products of weights' gradients add to the buffer themselves"));
  const std::string dtype = knobs.choice(
      "params_dtype", "fp32", dtypes,
      megatron_origin("of the model, and of what is gathered; not given: fp16 (--fp16) or bf16 "
                      "(--bf16) where the profile is of it; the optimizer has its copy in fp32"));
  const bool in_fp32 = knobs.yes(
      "accumulate_allreduce_grads_in_fp32", dtype != "fp16",
      megatron_origin(
          "of the buffer of gradients; false with --fp16 and with --grad-reduce-in-bf16"));
  if (options.overlap_param_gather &&
      !(options.use_distributed_optimizer && options.overlap_grad_reduce)) {
    knobs.refuse("overlap_param_gather",
                 "'overlap_param_gather' is true; expected 'use_distributed_optimizer: true' and "
                 "'overlap_grad_reduce: true' beside it, as in Megatron-LM");
  }
  if (!options.overlap_grad_reduce && knobs.given("ddp_bucket_size")) {
    knobs.without_effect("ddp_bucket_size", "expected 'overlap_grad_reduce: true' beside it");
  }
  if (!options.use_distributed_optimizer && knobs.given("ddp_pad_buckets_for_high_nccl_busbw")) {
    knobs.without_effect("ddp_pad_buckets_for_high_nccl_busbw",
                         "expected 'use_distributed_optimizer: true' beside it");
  }
  const bool follows = !knobs.given("params_dtype");
  const bool says = knobs.given("accumulate_allreduce_grads_in_fp32");
  return [=](const JobView& job) {
    MegatronOptions own = options;
    const std::string& type = follows ? job.dtype : dtype;
    if (type == "fp16" || type == "bf16") own.parameter_bytes = half_element_size;
    if (!(says ? in_fp32 : type != "fp16")) own.reduce_bytes = own.parameter_bytes;
    return std::make_unique<Megatron>(own, job);
  };
}

std::vector<CollectiveUse> Megatron::collectives() const {
  if (!options_.use_distributed_optimizer) return {{CollectiveKind::all_reduce}};
  std::vector<CollectiveUse> uses = {{CollectiveKind::reduce_scatter},
                                     {CollectiveKind::all_gather}};
  if (job_.clips_gradients) uses.push_back({CollectiveKind::all_reduce});
  return uses;
}

Operations Megatron::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* forward = std::get_if<ForwardStart>(&event)) {
    const auto layer = static_cast<std::size_t>(forward->layer);
    if (forward->micro_batch == 0 && layer < buckets_of_layer_.size()) {
      for (const std::size_t bucket : buckets_of_layer_[layer]) finish_gather(bucket);
    }
  } else if (const auto* hook = std::get_if<HookFired>(&event)) {
    accumulate(hook->tensor);
    if (job_.synchronises(hook->micro_batch)) {
      const auto bucket = buckets_.arrived(hook->tensor);
      if (bucket) reduce(*bucket);
    }
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) step();
  }
  return out_.take();
}

void Megatron::accumulate(TensorId tensor) {
  const TensorInfo& info = job_.tensor(tensor);
  if (options_.gradient_accumulation_fusion && info.shape.size() > 1) return;
  const std::int64_t bytes = options_.parameter_bytes + 2 * options_.reduce_bytes;
  out_.post(DeviceWork{.traffic = Bytes{info.elements * bytes}, .label = "add to buffer"});
}

std::int64_t Megatron::padded(std::int64_t elements) const {
  if (!options_.use_distributed_optimizer) return elements;
  std::int64_t multiple = std::lcm<std::int64_t>(job_.world_size, bucket_multiple);
  if (options_.ddp_pad_buckets_for_high_nccl_busbw) multiple = std::lcm(multiple, busbw_multiple);
  return up(elements, multiple);
}

std::int64_t Megatron::buffer_elements() const {
  std::int64_t elements = 0;
  for (const PlanGroup& bucket : buckets_.all()) elements += padded(bucket.elements);
  return elements;
}

Collective Megatron::reduction_of(std::size_t bucket) const {
  const bool scatters = options_.use_distributed_optimizer;
  const PlanGroup& group = buckets_[bucket];
  return {.kind = scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
          .size = Bytes{padded(group.elements) * options_.reduce_bytes},
          .tensors = group.tensors,
          .label = scatters ? "reduce-scatter bucket" : "all-reduce bucket"};
}

Collective Megatron::gather_of(std::size_t bucket) const {
  const PlanGroup& group = buckets_[bucket];
  return {.kind = CollectiveKind::all_gather,
          .size = Bytes{padded(group.elements) * options_.parameter_bytes},
          .tensors = group.tensors,
          .label = "all-gather bucket"};
}

void Megatron::reduce(std::size_t bucket) {
  const Collective reduction = reduction_of(bucket);
  if (!options_.ddp_average_in_collective) {
    out_.post(DeviceWork{.traffic = 2 * reduction.size, .label = "scale bucket"});
  }
  reductions_.push_back(out_.post(reduction));
}

void Megatron::gather(std::size_t bucket) {
  gathers_[bucket] = out_.post(gather_of(bucket));
}

void Megatron::finish_gather(std::size_t bucket) {
  if (gathers_[bucket] == gathered_operation) return;
  if (gathers_[bucket] == not_issued) gather(bucket);
  out_.post(Gate{{std::exchange(gathers_[bucket], gathered_operation)}});
  // Buckets are numbered from the last layers on.
  if (bucket > 0 && gathers_[bucket - 1] == not_issued) gather(bucket - 1);
}

void Megatron::step() {
  out_.post(Gate{std::exchange(reductions_, {})});
  const bool shards = options_.use_distributed_optimizer;
  const std::int64_t own = buffer_elements() / (shards ? job_.world_size : 1);
  if (shards && job_.clips_gradients) add_norms(families::all, out_);
  out_.post(OptimizerStep{.share = shards ? 1 / static_cast<double>(job_.world_size) : 1,
                          .label = shards ? "update shard" : "optimizer"});
  if (options_.parameter_bytes < gradient_element_size) {
    const std::int64_t bytes = gradient_element_size + options_.parameter_bytes;
    out_.post(DeviceWork{.traffic = Bytes{own * bytes}, .label = "copy main parameters"});
  }
  if (options_.overlap_param_gather) {
    std::ranges::fill(gathers_, not_issued);
  } else if (shards) {
    Gate gate;
    for (std::size_t b = buckets_.size(); b-- > 0;) gate.until.push_back(out_.post(gather_of(b)));
    out_.post(std::move(gate));
  }
  out_.post(DeviceWork{.traffic = Bytes{buffer_elements() * options_.reduce_bytes},
                       .label = "zero buffer"});
}

std::vector<PlanGroup> Megatron::plan(int /*iteration*/) const {
  std::vector<PlanGroup> plan;
  const char* note = options_.overlap_grad_reduce ? "reduce in backward" : "reduce after backward";
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    plan.push_back({buckets_[b].tensors, buckets_[b].elements, reduction_of(b).size, note});
  }
  if (!options_.use_distributed_optimizer) return plan;
  note = options_.overlap_param_gather ? "all-gather in the next forward"
                                       : "all-gather after the step";
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    plan.push_back({buckets_[b].tensors, buckets_[b].elements, gather_of(b).size, note});
  }
  return plan;
}

Holding Megatron::holding() const {
  Holding held;
  if (options_.use_distributed_optimizer) held.optimizer = 1.0 / job_.world_size;
  held.gradients = 0;  // the buffer is what they are added to
  held.buffers = Bytes{buffer_elements() * options_.reduce_bytes};
  held.fused_step = true;  // FusedAdam of apex or Transformer Engine
  if (options_.parameter_bytes < gradient_element_size) held.mixed = MixedWeights::half;
  if (options_.reduce_bytes < gradient_element_size) {
    const std::int64_t own =
        buffer_elements() / (options_.use_distributed_optimizer ? job_.world_size : 1);
    held.step = Bytes{own * gradient_element_size};
  }
  return held;
}

}  // namespace gradwire
