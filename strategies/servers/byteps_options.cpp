#include "strategies/servers/byteps_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// Times that no source states: a stage's thread signals its siblings over unix sockets and
/// launches a copy; Python looks up a handle and calls into C++.
constexpr Seconds assumed_stage_time{20e-6};
constexpr Seconds assumed_hook_time{10e-6};     ///< Python, per gradient
constexpr Seconds assumed_update_time{100e-6};  ///< cross_barrier's poller, per parameter
constexpr std::int64_t count_limit = 1 << 20;

/// What byteps.torch does not have beside BYTEPS_ENABLE_ASYNC, or is not modelled with it.
void refuse_beside_async(const Knobs& knobs, const BytePsOptions& options) {
  if (options.framework != "pytorch") {
    knobs.refuse("enable_async",
                 "'enable_async' is modelled of byteps.torch; expected framework: pytorch");
  }
  for (const char* name : {"nccl_num_rings", "server_engine_blocking"}) {
    if (knobs.given(name)) knobs.without_effect(name, "expected no such key beside enable_async");
  }
  for (const char* name : {"cross_barrier", "reduce_roots", "scheduling_credit", "threshold"}) {
    if (!knobs.given(name)) continue;
    knobs.refuse(name, fmt::format("'{}' is of synchronous training; expected no such key beside "
                                   "enable_async",
                                   name));
  }
}

/// BYTEPS_REDUCE_ROOTS: "0,4"; "" and "-1" are no roots.
std::vector<int> read_reduce_roots(Knobs& knobs) {
  constexpr const char* name = "reduce_roots";
  constexpr std::size_t digits_max = 6;
  const std::string text =
      knobs.text(name, "-1",
                 "BYTEPS_REDUCE_ROOTS, core_loops.cc: local ranks with commas between them, to one "
                 "of which, by djb2 of the key, NCCL reduces; -1: reduce-scatter");
  std::vector<int> roots;
  if (text.empty() || text == "-1") return roots;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string root = text.substr(begin, end - begin);
    const bool number = root.find_first_not_of("0123456789") == std::string::npos;
    if (root.empty() || !number || root.size() > digits_max) {
      knobs.refuse(name, fmt::format("'{}' is '{}'; expected local ranks with commas between "
                                     "them, such as 0,4, or -1 for none",
                                     name, text));
    }
    roots.push_back(std::stoi(root));
    begin = end + 1;
  }
  return roots;
}

void read_hash_constants(Knobs& knobs, KeyHash& hash) {
  ConditionalKnobs built_in(knobs);
  hash.built_in_coef = built_in.count("built_in_hash_coef", hash.built_in_coef, 1, count_limit,
                                      "BYTEPS_BUILT_IN_HASH_COEF, global.cc");
  if (hash.function != "built_in") built_in.refuse_without("key_hash_fn: built_in");
  ConditionalKnobs mixed(knobs);
  hash.mixed_mode_bound = mixed.count("mixed_mode_bound", hash.mixed_mode_bound, 1, count_limit,
                                      "BYTEPS_MIXED_MODE_BOUND, global.cc");
  if (hash.function != "mixed") mixed.refuse_without("key_hash_fn: mixed");
}

/// What threads take for a byte and for a task.
void read_costs(Knobs& knobs, BytePsOptions& options) {
  options.sum_rate = knobs.cpu().sum_rate;
  knobs.read(
      "sum_rate", options.sum_rate,
      "one core adds floats, our measurement, profiles/libraries/cpu.yaml; that an engine thread "
      "is as fast with its OpenMP threads is assumed");
  options.hook_time = assumed_hook_time;
  options.stage_time = assumed_stage_time;
  options.update_time = assumed_update_time;
}

}  // namespace

BytePsOptions read_byteps(Knobs& knobs) {
  static const std::vector<std::string> frameworks = {"pytorch", "mxnet", "tensorflow"};
  BytePsOptions options;
  knobs.read("partition_bytes", options.partition_bytes,
             "BYTEPS_PARTITION_BYTES, global.cc; rounded up to local_size pages of 4 KiB");
  options.nccl_group_size = knobs.count("nccl_group_size", options.nccl_group_size, 1, count_limit,
                                        "BYTEPS_NCCL_GROUP_SIZE, nccl_manager.cc");
  options.pcie_switch_size =
      knobs.count("pcie_switch_size", options.pcie_switch_size, 1, count_limit,
                  "BYTEPS_PCIE_SWITCH_SIZE, nccl_manager.cc: GPUs that NCCL "
                  "joins; a CPU adds these groups' sums");
  options.scheduling_credit =
      knobs.count("scheduling_credit", options.scheduling_credit, 0, count_limit,
                  "BYTEPS_SCHEDULING_CREDIT, scheduled_queue.cc: partitions in the REDUCE stage; "
                  "0: unset, no priorities");
  options.nccl_num_rings =
      knobs.count("nccl_num_rings", options.nccl_num_rings, 1, count_limit,
                  "BYTEPS_NCCL_NUM_RINGS, nccl_manager.cc: communicators with a stream each, by "
                  "key modulo");
  options.reduce_roots = read_reduce_roots(knobs);
  options.server_engine_thread =
      knobs.count("server_engine_thread", options.server_engine_thread, 1, count_limit,
                  "BYTEPS_SERVER_ENGINE_THREAD, server.cc: a key's thread sums and codes it");
  knobs.read("server_engine_blocking", options.server_engine_blocking,
             "BYTEPS_SERVER_ENGINE_BLOCKING, server.cc: the receiving thread itself adds, before "
             "it acknowledges; in place of the engine threads");
  knobs.read("server_enable_schedule", options.server_enable_schedule,
             "BYTEPS_SERVER_ENABLE_SCHEDULE, server/queue.h; the pushes of a key arrive "
             "together here, and its heap then takes the oldest key, like the FIFO");
  knobs.read("force_distributed", options.force_distributed, "BYTEPS_FORCE_DISTRIBUTED, global.cc");
  knobs.read("enable_ipc", options.enable_ipc,
             "BYTEPS_ENABLE_IPC: shared memory between a colocated pair");
  knobs.read("enable_async", options.enable_async,
             "BYTEPS_ENABLE_ASYNC: weight differences to servers that wait for nobody");
  options.hash.function = knobs.choice("key_hash_fn", options.hash.function, key_hashes(),
                                       "BYTEPS_KEY_HASH_FN, global.cc; mixed: "
                                       "BYTEPS_ENABLE_MIXED_MODE");
  read_hash_constants(knobs, options.hash);
  options.framework = knobs.choice("framework", options.framework, frameworks,
                                   "whose plug-in: order of declaration, priorities");
  knobs.read("cross_barrier", options.cross_barrier, "byteps.torch.cross_barrier.CrossBarrier");
  if (options.cross_barrier && options.framework != "pytorch") {
    knobs.refuse("cross_barrier", "'cross_barrier' is PyTorch's; expected framework: pytorch");
  }
  if (options.enable_async) refuse_beside_async(knobs, options);
  options.threshold =
      knobs.count("threshold", options.threshold, 0, std::int64_t{1} << 40,
                  "ddl-benchmarks' BYTEPS_FUSION_THRESHOLD: elements merged before push_pull");
  options.connections = static_cast<int>(
      knobs.count("connections", options.connections, 1, count_limit,
                  "ps-lite, zmq_van.h: one socket a pair; more: servers on a machine"));
  read_costs(knobs, options);
  return options;
}

}  // namespace gradwire
