#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "strategies/sharded/fsdp.hpp"

namespace gradwire {
namespace {

constexpr int ranks_max = 1'000'000;

constexpr const char* origin = "torch.distributed.fsdp.FullyShardedDataParallel";

constexpr std::int64_t of_weights = 0;  ///< in place of an element's bytes: as the model keeps it

std::int64_t bytes_of(const std::string& dtype) {
  if (dtype == "fp8") return 1;
  return dtype == "fp32" ? gradient_element_size : half_element_size;
}

void read_wrapping(Knobs& knobs, FsdpOptions& options) {
  static const std::vector<std::string> policies = {"block", "size_based", "none"};
  knobs.read("unit_size", options.unit_size,
             "size_based_auto_wrap_policy(min_num_params=1e8), in fp32");
  const std::string fallback = knobs.given("unit_size") ? "size_based" : "block";
  const std::string policy = knobs.choice(
      "auto_wrap_policy", fallback, policies,
      std::string(
          "transformer_auto_wrap_policy with the model's block, as FSDP's tutorial has it; ") +
          origin + " itself has none; size_based where unit_size is set");
  if (policy != "size_based" && knobs.given("unit_size")) {
    knobs.refuse("unit_size",
                 "'unit_size' goes with 'auto_wrap_policy: size_based', which is '" + policy + "'");
  }
  options.wrap = policy == "block"        ? WrapPolicy::block
                 : policy == "size_based" ? WrapPolicy::size_based
                                          : WrapPolicy::none;
}

void read_types(Knobs& knobs, FsdpOptions& options) {
  static const std::vector<std::string> dtypes = {"fp32", "fp16", "bf16"};
  std::vector<std::string> gathered = dtypes;
  gathered.emplace_back("fp8");
  const std::string param_dtype =
      knobs.choice("param_dtype", "fp32", gathered,
                   "MixedPrecision(param_dtype), else the weights' (of a profile with "
                   "`master_weights: false` its `dtype`); fp8: torchao's "
                   "enable_fsdp_float8_all_gather, Megatron-LM's --fp8-param-gather, here of all "
                   "parameters");
  const std::string reduce_dtype =
      knobs.choice("reduce_dtype", param_dtype == "fp8" ? "bf16" : param_dtype, dtypes,
                   "MixedPrecision(reduce_dtype), else param_dtype, of fp8 bf16");
  options.param_bytes = knobs.given("param_dtype") ? bytes_of(param_dtype) : of_weights;
  options.reduce_bytes = knobs.given("reduce_dtype") ? bytes_of(reduce_dtype) : of_weights;
}

/// With the types that nobody stated.
FsdpOptions typed(FsdpOptions options, const JobView& job) {
  options.stored_bytes = job.weight_size;
  if (options.param_bytes == of_weights) options.param_bytes = job.weight_size;
  if (options.reduce_bytes == of_weights) {
    options.reduce_bytes = std::max(options.param_bytes, half_element_size);  // none adds in fp8
  }
  return options;
}

void read_common(Knobs& knobs, FsdpOptions& options) {
  static const std::vector<std::string> prefetches = {"BACKWARD_PRE", "BACKWARD_POST", "none"};
  read_wrapping(knobs, options);
  const std::string prefetch =
      knobs.choice("backward_prefetch", "BACKWARD_PRE", prefetches, origin);
  options.backward_prefetch = prefetch == "BACKWARD_PRE"    ? BackwardPrefetch::backward_pre
                              : prefetch == "BACKWARD_POST" ? BackwardPrefetch::backward_post
                                                            : BackwardPrefetch::none;
  knobs.read("forward_prefetch", options.forward_prefetch, origin);
  knobs.read("limit_all_gathers", options.limit_all_gathers,
             std::string(origin) + ", from 2.0 on; false before");
  knobs.read("no_sync", options.no_sync,
             std::string(origin) + ".no_sync() around all but the last micro-batch");
  read_types(knobs, options);
}

/// @param switch_origin  of `cpu_offload`. @param pin  where `pin_memory` comes from.
void read_cpu_offload(Knobs& knobs, FsdpOptions& options, const char* switch_origin,
                      const char* pin) {
  HostOffloadOptions& offload = options.offload;
  if (knobs.yes("cpu_offload", false, switch_origin)) offload.what = Offload::parameters;
  const bool fused = knobs.yes("fused", false,
                               "torch.optim.Adam(fused=True), of cpu_offload: one pass over "
                               "memory; false: one an operation");
  offload.optimizer = fused ? HostOptimizer::torch_fused : HostOptimizer::torch;
  offload.threads = static_cast<int>(
      knobs.count("omp_num_threads", 1, 0, ranks_max,
                  "OMP_NUM_THREADS, which torchrun sets to 1: threads of a rank that take the "
                  "optimizer's step; 0: as many as memory feeds"));
  read_host(knobs, offload, pin);
  refuse_without_offload(knobs, offload, {"fused", "omp_num_threads", "memory_rate", "pin_memory"},
                         "cpu_offload: true");
  if (offload.what == Offload::none) return;
  if (options.sharding < Sharding::shard_grad_op) {
    knobs.refuse("cpu_offload",
                 "'cpu_offload' goes with shards of parameters; expected FULL_SHARD or "
                 "SHARD_GRAD_OP beside it");
  }
  if (!options.per_parameter && !options.no_sync) {
    knobs.refuse("cpu_offload",
                 "'cpu_offload' with 'no_sync: false', which FSDP does not support (it would not "
                 "accumulate gradients); expected 'no_sync: true'");
  }
}

constexpr const char* flat_offload =
    "CPUOffload(offload_params=True): shards of parameters and gradients lie in host memory, and "
    "the host runs the optimizer";
constexpr const char* flat_pin = "FullyShardedDataParallel's, always so";

int read_degree(Knobs& knobs, const std::string& fallback) {
  return static_cast<int>(knobs.count("data_parallel_shard_degree", 0, 0, ranks_max,
                                      "torchtitan: ranks that share a parameter, which follow each "
                                      "other; 0: " +
                                          fallback));
}

StrategyMaker maker_of(Knobs& knobs, FsdpOptions options, const ShardingHooks& hooks) {
  options.hook_time = hooks.unit;
  options.tensor_hook_time = hooks.unit_tensor;
  knobs.read("hook_time", options.hook_time,
             "of the thread that launches, a unit's Python in each direction: PyTorch's, "
             "profiles/libraries/sharding_hooks.yaml; other frameworks have none");
  knobs.read("tensor_hook_time", options.tensor_hook_time, "as hook_time, of each of its tensors");
  return [options](const JobView& job) { return std::make_unique<Fsdp>(typed(options, job), job); };
}

}  // namespace

StrategyMaker Fsdp::read(Knobs& knobs, const ShardingHooks& hooks) {
  static const std::vector<std::string> strategies = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"};
  FsdpOptions options;
  const std::string strategy = knobs.choice("sharding_strategy", "FULL_SHARD", strategies, origin);
  options.sharding = strategy == "FULL_SHARD"      ? Sharding::full_shard
                     : strategy == "SHARD_GRAD_OP" ? Sharding::shard_grad_op
                                                   : Sharding::none;
  constexpr int most = 3;
  const auto stage = knobs.count("zero_stage", most, 1, most,
                                 "ZeRO (SC 2020), section 5; instead of sharding_strategy: 3 is "
                                 "FULL_SHARD, 2 SHARD_GRAD_OP, 1 shards the optimizer only");
  if (knobs.given("zero_stage")) {
    if (knobs.given("sharding_strategy")) {
      knobs.refuse("zero_stage",
                   "'zero_stage' and 'sharding_strategy' are both set; expected one of them");
    }
    options.sharding = stage == most ? Sharding::full_shard
                       : stage == 2  ? Sharding::shard_grad_op
                                     : Sharding::optimizer;
  }
  read_common(knobs, options);
  read_cpu_offload(knobs, options, flat_offload, flat_pin);
  return maker_of(knobs, options, hooks);
}

StrategyMaker Fsdp::read_hybrid(Knobs& knobs, const ShardingHooks& hooks) {
  static const std::vector<std::string> strategies = {"HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"};
  FsdpOptions options;
  options.hybrid = true;
  const std::string strategy =
      knobs.choice("sharding_strategy", "HYBRID_SHARD", strategies, origin);
  options.sharding = strategy == "HYBRID_SHARD" ? Sharding::full_shard : Sharding::shard_grad_op;
  options.shard_degree = read_degree(knobs, "those of a machine, FSDP's default");
  read_common(knobs, options);
  read_cpu_offload(knobs, options, flat_offload, flat_pin);
  return maker_of(knobs, options, hooks);
}

StrategyMaker Fsdp::read_fully_shard(Knobs& knobs, const ShardingHooks& hooks) {
  FsdpOptions options;
  options.per_parameter = true;
  const std::string reshard = knobs.text(
      "reshard_after_forward", "true",
      "fully_shard: true frees a block's parameters behind its forward; false keeps them; a number "
      "keeps shares within groups of so many ranks; the root's stay in any case");
  if (reshard == "false") {
    options.sharding = Sharding::shard_grad_op;
  } else if (reshard != "true") {
    const bool digits = !reshard.empty() && reshard.size() <= std::size("999999") - 1 &&
                        reshard.find_first_not_of("0123456789") == std::string::npos;
    options.backward_degree = digits ? std::stoi(reshard) : 0;
    if (options.backward_degree < 1) {
      knobs.refuse("reshard_after_forward", "'reshard_after_forward' is '" + reshard +
                                                "'; expected true, false or a number of ranks");
    }
  }
  static const std::vector<std::string> placements = {"none", "even"};
  options.even_shards =
      knobs.choice("shard_placement_fn", "none", placements,
                   "fully_shard: none shards along the first dimension, padded to the ranks; even "
                   "along the first that they divide (Shard(1) of torchtitan's experts)") == "even";
  options.shard_degree = read_degree(knobs, "all, without replicas");
  options.hybrid = options.shard_degree > 0;
  read_wrapping(knobs, options);
  options.forward_modules = static_cast<int>(
      knobs.count("set_modules_to_forward_prefetch", 0, 0, ranks_max,
                  "FSDPModule: blocks ahead whose gather is issued with a block's own; 0: as the "
                  "host comes to them"));
  options.forward_prefetch = options.forward_modules > 0;
  knobs.read("no_sync", options.no_sync,
             "set_requires_gradient_sync(False) for all but the last micro-batch");
  read_types(knobs, options);
  read_cpu_offload(knobs, options,
                   "fully_shard(offload_policy=CPUOffloadPolicy()): shards of parameters and "
                   "gradients lie in host memory, and the host runs the optimizer",
                   "CPUOffloadPolicy(pin_memory)");
  return maker_of(knobs, options, hooks);
}

StrategyMaker Fsdp::read_diloco(Knobs& knobs, const ShardingHooks& hooks) {
  static const std::vector<std::string> strategies = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"};
  constexpr int steps = 500;
  FsdpOptions options;
  options.hybrid = true;
  options.outer.islands = static_cast<int>(knobs.count(
      "islands", options.outer.islands, 1, ranks_max,
      "arXiv 2311.08105, its k workers: equally many ranks that follow each other; 8 there"));
  options.outer.sync_every = static_cast<int>(knobs.count(
      "sync_every", steps, 1, std::numeric_limits<int>::max(),
      "torchft DiLoCo(sync_every), which has no default; H of arXiv 2311.08105, section 3"));
  const std::string strategy = knobs.choice(
      "sharding_strategy", "FULL_SHARD", strategies,
      std::string(origin) + ", within an island; NO_SHARD: its ranks all-reduce gradients");
  options.sharding = strategy == "FULL_SHARD"      ? Sharding::full_shard
                     : strategy == "SHARD_GRAD_OP" ? Sharding::shard_grad_op
                                                   : Sharding::none;
  read_common(knobs, options);
  return maker_of(knobs, options, hooks);
}

}  // namespace gradwire
