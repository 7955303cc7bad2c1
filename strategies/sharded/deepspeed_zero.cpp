#include "strategies/sharded/deepspeed_zero.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <memory>
#include <utility>

#include "strategies/sharded/clipping.hpp"
#include "strategies/sharded/fsdp.hpp"

namespace gradwire {
namespace {

constexpr const char* zero_origin =
    "DeepSpeed, zero_optimization, deepspeed/runtime/zero/config.py";
constexpr int last_stage = 3;

std::string with_origin(const std::string& what) {
  return std::string(zero_origin) + "; " + what;
}

/// The host casts parameters back to the type of the model.
HostOffloadOptions of_model(HostOffloadOptions offload, const JobView& job) {
  offload.parameter_bytes = job.element_size;
  if (job.element_size < gradient_element_size) offload.beside_bytes += cast_back_bytes;
  return offload;
}

std::unique_ptr<Strategy> stage_three(const DeepSpeedOptions& options, const LiveParameters& live,
                                      const JobView& job) {
  FsdpOptions sharded;
  if (options.offload.what != Offload::none) {
    sharded.offload = of_model(options.offload, job);
    sharded.accumulated_bytes = job.element_size;
  }
  sharded.param_bytes = sharded.reduce_bytes = sharded.stored_bytes = job.element_size;
  sharded.live = live;
  sharded.reduce_bucket_size = options.reduce_bucket_size;
  sharded.limit_all_gathers = false;
  sharded.tensor_hook_time = options.hook_time;
  sharded.hooks_again = true;  // they are the submodules', in a checkpoint
  sharded.no_sync = false;     // gradients are partitioned in every micro-batch
  return std::make_unique<Fsdp>(sharded, job);
}

LiveParameters read_live(Knobs& knobs, bool three) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  struct Knob {
    const char* name;
    std::int64_t fallback;
    const char* what;
    std::int64_t value;
  };
  std::array<Knob, 4> read = {{
      {"stage3_prefetch_bucket_size", 50'000'000,
       "elements that are gathered ahead of a block, at least; 0: none", 0},
      {"stage3_max_live_parameters", 1'000'000'000,
       "elements that are gathered at once, above which nothing is prefetched", 0},
      {"stage3_max_reuse_distance", 1'000'000'000,
       "elements: a block that is used again within so many stays, from forward to backward", 0},
      {"stage3_param_persistence_threshold", 100'000,
       "elements: tensors of at most so many stay whole, and are gathered behind the step", 0},
  }};
  for (Knob& knob : read) {
    knob.value = knobs.count(knob.name, knob.fallback, 0, most,
                             with_origin(std::string(knob.what) + "; stage 3"));
    if (!three && knobs.given(knob.name)) {
      knobs.without_effect(knob.name, "expected 'stage: 3' beside it");
    }
  }
  return {read[0].value, read[1].value, read[2].value, read[3].value};
}

HostOffloadOptions read_offload(Knobs& knobs, bool three) {
  static const std::vector<std::string> devices = {"none", "cpu"};
  HostOffloadOptions offload{.beside_bytes = unscale_bytes, .pinned = false};
  if (knobs.choice("offload_optimizer", "none", devices,
                   with_origin("device: where the optimizer's state lies and its step is taken, on "
                               "the cpu by DeepSpeedCPUAdam, of others by torch.optim")) == "cpu") {
    offload.what = Offload::optimizer;
  }
  const bool parameters =
      knobs.choice("offload_param", "none", devices,
                   with_origin("device: where parameters lie; stage 3, with offload_optimizer")) ==
      "cpu";
  read_host(knobs, offload,
            "DeepSpeed, pin_memory of offload_optimizer and offload_param, offload_config.py");
  knobs.read("bind_cores_to_rank", offload.bound,
             "deepspeed --bind_cores_to_rank: each rank's threads on cores of its "
             "own; false: every rank has as many threads as the machine has cores");
  if (parameters && !three) {
    knobs.without_effect("offload_param", "expected 'stage: 3' beside it");
  } else if (parameters && offload.what == Offload::none) {
    knobs.refuse("offload_param",
                 "'offload_param' is 'cpu' without 'offload_optimizer: cpu'; expected both, as in "
                 "DeepSpeed");
  } else if (parameters) {
    offload.what = Offload::parameters;
  }
  refuse_without_offload(knobs, offload, {"memory_rate", "pin_memory", "bind_cores_to_rank"},
                         "offload_optimizer: cpu");
  return offload;
}

}  // namespace

DeepSpeedZero::DeepSpeedZero(const DeepSpeedOptions& options, const JobView& job)
    : options_(options), job_(job) {
  assert(options.stage == 1 || options.stage == 2);
  assert(options.reduce_bucket_size > 0 && options.allgather_bucket_size > 0);
  for (const TensorInfo& tensor : job.tensors) elements_ += tensor.elements;
  if (options.offload.what != Offload::none)
    host_.emplace(of_model(options.offload, job), job, out_);
}

std::vector<Exchange> DeepSpeedZero::exchanges() const {
  return host_ ? host_->exchanges() : std::vector<Exchange>{};
}

StrategyMaker DeepSpeedZero::read(Knobs& knobs, const ShardingHooks& hooks) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 16;
  DeepSpeedOptions options;
  options.stage = static_cast<int>(knobs.count(
      "stage", options.stage, 1, last_stage,
      "DeepSpeed, zero_optimization, whose default, 0, is plain all-reduces: what a rank keeps a "
      "share of: 1 the optimizer's state, 2 gradients too, 3 parameters too"));
  options.reduce_bucket_size = knobs.count("reduce_bucket_size", options.reduce_bucket_size, 1,
                                           most, with_origin("elements that are reduced at once"));
  options.allgather_bucket_size =
      knobs.count("allgather_bucket_size", options.allgather_bucket_size, 1, most,
                  with_origin("elements that are gathered at once; stages 1 and 2"));
  const bool three = options.stage == last_stage;
  options.overlap_comm =
      knobs.yes("overlap_comm", three, with_origin("reductions beside backward; true for stage 3"));
  knobs.read("reduce_scatter", options.reduce_scatter,
             with_origin("false: gradients are all-reduced as they lie; stages 1 and 2"));
  knobs.read(
      "use_multi_rank_bucket_allreduce", options.use_multi_rank_bucket_allreduce,
      "DeepSpeed, stage_1_and_2.py; true: a bucket's shares are put together and all-reduced; "
      "false, and releases of before 2024: each is reduced to its rank; with reduce_scatter");
  if (!options.reduce_scatter && knobs.given("use_multi_rank_bucket_allreduce")) {
    knobs.without_effect("use_multi_rank_bucket_allreduce",
                         "expected 'reduce_scatter: true' beside it");
  }
  const LiveParameters live = read_live(knobs, three);
  for (const char* name :
       {"allgather_bucket_size", "reduce_scatter", "use_multi_rank_bucket_allreduce"}) {
    if (three && knobs.given(name)) {
      knobs.without_effect(name, "expected 'stage: 1' or 2 beside it");
    }
  }
  if (three && !options.overlap_comm) {
    knobs.refuse("overlap_comm", "'overlap_comm' is false with 'stage: 3'; expected true");
  }
  options.offload = read_offload(knobs, three);
  options.hook_time = three ? hooks.zero3_tensor : hooks.zero2_tensor;
  knobs.read(
      "hook_time", options.hook_time,
      fmt::format("of the thread that launches, PyTorch's: a tensor's Python where it is reduced, "
                  "and in the step of a partition; of stage 3 ({:.0f} us) in each direction; "
                  "profiles/libraries/sharding_hooks.yaml",
                  1e6 * hooks.zero3_tensor.count()));
  return [options, live](const JobView& job) -> std::unique_ptr<Strategy> {
    if (options.stage == last_stage) return stage_three(options, live, job);
    return std::make_unique<DeepSpeedZero>(options, job);
  };
}

std::vector<CollectiveUse> DeepSpeedZero::collectives() const {
  const CollectiveUse reduction{scatters() ? CollectiveKind::reduce_scatter
                                           : CollectiveKind::all_reduce};
  std::vector<CollectiveUse> uses = {reduction, {CollectiveKind::all_gather}};
  if (job_.clips_gradients && scatters()) uses.push_back({CollectiveKind::all_reduce});
  return uses;
}

Operations DeepSpeedZero::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* hook = std::get_if<HookFired>(&event)) {
    if (has_hooks() && reduces(hook->micro_batch)) add(hook->tensor, hook->micro_batch);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (reduces(done->micro_batch)) {
      if (!has_hooks()) {
        for (const TensorId tensor : job_.gradient_order) add(tensor, done->micro_batch);
      }
      flush(done->micro_batch);
      if (!in_flight_.empty()) out_.post(Gate{std::exchange(in_flight_, {})});
    }
    if (job_.synchronises(done->micro_batch)) step();
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    out_.done(ended->operation);
  }
  return out_.take();
}

std::int64_t DeepSpeedZero::padded(std::int64_t elements) const {
  const std::int64_t ranks = job_.world_size;
  return (elements + ranks - 1) / ranks * ranks;
}

int DeepSpeedZero::tensors_of_partition() const {
  int most = 0;
  int here = 0;
  std::int64_t room = partition();
  for (const TensorInfo& tensor : job_.tensors) {
    most = std::max(most, ++here);
    for (room -= tensor.elements; room <= 0; room += partition()) here = room < 0 ? 1 : 0;
  }
  return most;
}

void DeepSpeedZero::run_python(int tensors) {
  const Seconds time = job_.python_time * tensors * options_.hook_time;
  if (time <= Seconds{}) return;
  out_.post(HostWork{.thread = HostWork::launcher, .time = time, .label = "DeepSpeed"});
}

void DeepSpeedZero::add(TensorId tensor, int micro_batch) {
  const TensorInfo& info = job_.tensor(tensor);
  run_python(1);
  if (bucket_.elements + info.elements > options_.reduce_bucket_size) flush(micro_batch);
  out_.post(copy_of(job_, info, "copy into bucket"));
  bucket_.tensors.push_back(tensor);
  bucket_.elements += info.elements;
}

Collective DeepSpeedZero::reduction_of(const PlanGroup& bucket) const {
  return {.kind = scatters() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
          .size = job_.size_of(scatters() ? padded(bucket.elements) : bucket.elements),
          .tensors = bucket.tensors,
          .label = scatters() ? "reduce-scatter bucket" : "all-reduce bucket"};
}

void DeepSpeedZero::flush(int micro_batch) {
  if (bucket_.tensors.empty()) return;
  if (!in_flight_.empty()) out_.post(Gate{std::exchange(in_flight_, {})});
  out_.post(DeviceWork{.traffic = 2 * job_.size_of(bucket_.elements), .label = "divide"});
  if (options_.reduce_scatter && !scatters()) {
    out_.post(DeviceWork{.traffic = 2 * job_.size_of(bucket_.elements), .label = "concatenate"});
  }
  const OperationId reduced = reduce(micro_batch);
  bucket_ = {};
  if (options_.overlap_comm && (!host_ || host_->pinned())) {
    in_flight_.push_back(reduced);
  } else {
    out_.post(Gate{{reduced}});
  }
}

OperationId DeepSpeedZero::reduce(int micro_batch) {
  if (!host_) return out_.post(reduction_of(bucket_));
  const OperationId on_host = out_.post(Flag{"gradients on host"});
  const std::int64_t own = padded(bucket_.elements) / job_.world_size;
  const bool accumulates = options_.stage > 1 && micro_batch > 0;
  const HostOffload::GradientCopies copies{
      .to_gpu = accumulates ? job_.element_size : 0,
      .to_host = job_.synchronises(micro_batch) ? gradient_element_size : job_.element_size};
  out_.post(reduction_of(bucket_), [this, on_host, own, copies] {
    host_->gradients(own, copies, [this, on_host] { out_.post(Raise{on_host}); });
  });
  return on_host;
}

std::vector<std::int64_t> DeepSpeedZero::gathers() const {
  std::vector<std::int64_t> sizes;
  std::int64_t left = padded(elements_);
  while (left > 0) {
    sizes.push_back(std::min(left, padded(options_.allgather_bucket_size)));
    left -= sizes.back();
  }
  return sizes;
}

void DeepSpeedZero::step() {
  run_python(tensors_of_partition());
  if (job_.clips_gradients) add_norms(families::all, out_);
  if (host_) {
    host_->step(partition());
  } else {
    out_.post(OptimizerStep{.share = 1 / static_cast<double>(job_.world_size),
                            .label = "update partition"});
  }
  std::vector<OperationId> gathered;
  for (const std::int64_t elements : gathers()) {
    gathered.push_back(out_.post(Collective{.kind = CollectiveKind::all_gather,
                                            .size = job_.size_of(elements),
                                            .tensors = job_.gradient_order,
                                            .label = "all-gather partitions"}));
  }
  out_.post(Gate{std::move(gathered)});
}

std::vector<PlanGroup> DeepSpeedZero::plan(int /*iteration*/) const {
  std::vector<PlanGroup> plan;
  for (const TensorId tensor : job_.gradient_order) {
    const std::int64_t elements = job_.tensor(tensor).elements;
    if (plan.empty() || plan.back().elements + elements > options_.reduce_bucket_size) {
      plan.push_back({.tensors = {}, .note = "reduce in backward"});
    }
    plan.back().tensors.push_back(tensor);
    plan.back().elements += elements;
  }
  for (PlanGroup& bucket : plan) bucket.size = reduction_of(bucket).size;
  for (const std::int64_t elements : gathers()) {
    plan.push_back(
        {job_.gradient_order, elements, job_.size_of(elements), "all-gather after the step"});
  }
  return plan;
}

Holding DeepSpeedZero::holding() const {
  Holding held;
  const double share = 1.0 / job_.world_size;
  held.optimizer = share;
  if (options_.stage > 1) held.gradients = share;
  held.fused_step = true;  // FusedAdam
  if (job_.element_size < gradient_element_size) {
    held.mixed = MixedWeights::half;
    held.step = Bytes{partition() * gradient_element_size};
  }
  held.buffers = (options_.overlap_comm ? 2 : 1) * job_.size_of(options_.reduce_bucket_size);
  if (host_) {
    const double gradients = options_.stage > 1 ? 0 : held.gradients;
    host_->move(held, partition());
    held.gradients = gradients;
  }
  return held;
}

}  // namespace gradwire
