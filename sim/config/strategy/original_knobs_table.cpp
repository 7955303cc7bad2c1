#include "sim/config/strategy/original_knobs.hpp"

namespace gradwire::config {
namespace {

std::vector<OriginalKnob> horovod_knobs() {
  using enum OriginalUnit;
  static const std::vector<std::string> horovod = {"horovod"};
  return {
      {"HOROVOD_FUSION_THRESHOLD", horovod, "fusion_threshold", bytes,
       "horovod/common/operations.cc"},
      {"HOROVOD_CYCLE_TIME", horovod, "cycle_time", milliseconds, "horovod/common/operations.cc"},
      {"HOROVOD_CACHE_CAPACITY", horovod, "cache_capacity", number,
       "horovod/common/global_state.h"},
      {"HOROVOD_HIERARCHICAL_ALLREDUCE", horovod, "hierarchical_allreduce", flag,
       "horovod/common/operations.cc"},
      {"HOROVOD_TORUS_ALLREDUCE", horovod, "torus_allreduce", flag, "horovod/common/operations.cc"},
      {"HOROVOD_HIERARCHICAL_ALLGATHER", horovod, "hierarchical_allgather", flag,
       "horovod/common/operations.cc"},
      {"HOROVOD_BATCH_D2D_MEMCOPIES", horovod, "batch_d2d_memcopies", flag,
       "horovod/common/operations.cc"},
      {"HOROVOD_DISABLE_GROUP_FUSION", horovod, "disable_group_fusion", flag,
       "horovod/common/operations.cc"},
      {"HOROVOD_AUTOTUNE", horovod, "autotune", flag, "horovod/common/operations.cc"},
      {"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", horovod, "autotune_steps_per_sample", number,
       "horovod/common/parameter_manager.cc"},
      {"HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", horovod, "autotune_bayes_opt_max_samples", number,
       "horovod/common/parameter_manager.cc"},
      {"HOROVOD_NUM_NCCL_STREAMS", horovod, "num_nccl_streams", number,
       "horovod/common/operations.cc"},
  };
}

/// Those of all systems but Horovod.
std::vector<OriginalKnob> other_knobs() {
  using enum OriginalUnit;
  static const std::vector<std::string> byteps = {"byteps"};
  static const std::vector<std::string> bytescheduler = {"bytescheduler"};
  static const std::vector<std::string> kungfu = {"kungfu_sync", "kungfu_sma", "kungfu_ada"};
  static const std::vector<std::string> mxnet = {"mxnet_kvstore", "p3", "bytescheduler"};
  static const std::vector<std::string> p3 = {"p3"};
  static const std::vector<std::string> ddp = {"ddp", "local_sgd", "powersgd"};
  return {
      {"DDP_SET_LAST_BUCKET_CAP", ddp, "set_last_bucket_cap", flag,
       "torch/csrc/distributed/c10d/reducer.cpp"},
      {"BYTEPS_PARTITION_BYTES", byteps, "partition_bytes", bytes, "byteps/common/global.cc"},
      {"BYTEPS_SCHEDULING_CREDIT", byteps, "scheduling_credit", number,
       "byteps/common/scheduled_queue.cc"},
      {"BYTEPS_MIN_COMPRESS_BYTES", byteps, "compression.min_compress_bytes", bytes,
       "byteps/common/global.cc"},
      {"BYTEPS_THREADPOOL_SIZE", byteps, "compression.threads", number, "byteps/common/global.cc"},
      {"BYTEPS_NCCL_GROUP_SIZE", byteps, "nccl_group_size", number,
       "byteps/common/nccl_manager.cc"},
      {"BYTEPS_NCCL_NUM_RINGS", byteps, "nccl_num_rings", number, "byteps/common/nccl_manager.cc"},
      {"BYTEPS_PCIE_SWITCH_SIZE", byteps, "pcie_switch_size", number, "byteps/common/global.cc"},
      {"BYTEPS_REDUCE_ROOTS", byteps, "reduce_roots", ranks, "byteps/docs/env.md"},
      {"BYTEPS_FORCE_DISTRIBUTED", byteps, "force_distributed", flag, "byteps/common/global.cc"},
      {"BYTEPS_ENABLE_IPC", byteps, "enable_ipc", flag, "byteps/docs/best-practice.md"},
      {"BYTEPS_ENABLE_ASYNC", byteps, "enable_async", flag, "byteps/server/server.cc"},
      {"BYTEPS_KEY_HASH_FN", byteps, "key_hash_fn", text, "byteps/common/global.cc"},
      {"BYTEPS_BUILT_IN_HASH_COEF", byteps, "built_in_hash_coef", number,
       "byteps/common/global.cc"},
      {"BYTEPS_ENABLE_MIXED_MODE", byteps, "key_hash_fn", flag, "byteps/common/global.cc", "mixed"},
      {"BYTEPS_MIXED_MODE_BOUND", byteps, "mixed_mode_bound", number, "byteps/common/global.cc"},
      {"BYTEPS_SERVER_ENGINE_THREAD", byteps, "server_engine_thread", number,
       "byteps/server/server.cc"},
      {"BYTEPS_SERVER_ENGINE_BLOCKING", byteps, "server_engine_blocking", flag,
       "byteps/server/server.cc"},
      {"BYTEPS_SERVER_ENABLE_SCHEDULE", byteps, "server_enable_schedule", flag,
       "byteps/server/queue.h"},
      {"BYTEPS_FUSION_THRESHOLD", byteps, "threshold", number,
       "ddl-benchmarks byteps/byteps_distributed_optimizer.py; elements"},
      {"DMLC_NUM_SERVER", byteps, "servers.count", number, "byteps/docs/env.md"},
      {"BYTESCHEDULER_PARTITION", bytescheduler, "partition", number,
       "bytescheduler/common/bytecore.py; parameters"},
      {"BYTESCHEDULER_CREDIT", bytescheduler, "credit", number,
       "bytescheduler/common/bytecore.py; parameters"},
      {"MXNET_KVSTORE_BIGARRAY_BOUND", mxnet, "bigarray_bound", number,
       "mxnet src/kvstore/kvstore_dist.h; elements"},
      {"MXNET_KVSTORE_REDUCTION_NTHREADS", mxnet, "reduction_threads", number,
       "mxnet src/kvstore/comm.h"},
      {"MXNET_UPDATE_ON_KVSTORE", mxnet, "update_on_kvstore", flag, "mxnet python/mxnet/model.py"},
      {"MXNET_KVSTORE_SLICE_THRESHOLD", p3, "slice_size", number,
       "mxnet src/kvstore/p3store_dist.h; elements"},
      {"KUNGFU_ALLREDUCE_STRATEGY", kungfu, "graph", text, "KungFu srcs/go/kungfu/config"},
      {"KUNGFU_CONFIG_SERVER",
       {"kungfu_sync", "kungfu_sma"},
       "config_server",
       text,
       "KungFu srcs/go/kungfu/env/config.go; a URL"},
      {"KUNGFU_CONFIG_STRATEGY_HASH_METHOD", kungfu, "strategy_hash_method", text,
       "KungFu srcs/go/kungfu/session/shard.go"},
  };
}

}  // namespace

/// By system, then by name.
const std::vector<OriginalKnob>& original_knobs() {
  static const std::vector<OriginalKnob> table = [] {
    std::vector<OriginalKnob> all = other_knobs();
    const std::vector<OriginalKnob> horovod = horovod_knobs();
    all.insert(all.begin() + 1, horovod.begin(), horovod.end());
    return all;
  }();
  return table;
}

}  // namespace gradwire::config
