#include "sim/config/collective/idle_variables.hpp"

#include <initializer_list>

namespace gradwire::config {
namespace {

/// Reasons that several share.
constexpr const char* reason_prints = "it prints or records, at no cost that is modelled";
constexpr const char* reason_finds = "it is how processes find each other";
constexpr const char* reason_machines = "`cluster` says which machines there are";
constexpr const char* reason_network = "`cluster.fabric` says which network there is";
constexpr const char* reason_cores =
    "cores and their threads are those of the machine, not of a variable";
constexpr const char* reason_waits = "nobody fails or hangs here";
constexpr const char* reason_not_modelled = "that is not modelled";

constexpr const char* source_nccl = "NCCL user guide, Environment Variables";
constexpr const char* source_horovod = "horovod/common/common.h";
constexpr const char* source_byteps = "byteps/docs/env.md";
constexpr const char* source_byteps_global = "byteps/common/global.cc";
constexpr const char* source_byteps_server = "byteps/server/server.cc";
constexpr const char* source_kungfu = "KungFu srcs/go/kungfu/config";
constexpr const char* source_torch = "PyTorch manual, torch.distributed";

void append_nccl(std::vector<IdleVariable>& table) {
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) {
    table.push_back({name, reason_prints, source_nccl});
  }
  for (const char* name : {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_IB_HCA",
                           "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX", "NCCL_NET", "NCCL_NET_PLUGIN"}) {
    table.push_back({name, reason_network, source_nccl});
  }
  for (const char* name : {"NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT"}) {
    table.push_back({name, reason_waits, source_nccl});
  }
  for (const char* name :
       {"NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_NTHREADS",
        "NCCL_LAUNCH_MODE", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD", "NCCL_CROSS_NIC"}) {
    table.push_back({name, reason_not_modelled, source_nccl});
  }
  table.insert(
      table.end(),
      std::initializer_list<IdleVariable>{
          {"NCCL_ALGO", "`collective: {algorithm: ...}` says it", source_nccl},
          {"NCCL_PROTO", "`collective: {protocol: ...}` says it", source_nccl},
          {"NCCL_MIN_NCHANNELS", "`collective: {channels: ...}` says it", source_nccl},
          {"NCCL_MAX_NCHANNELS", "`collective: {channels: ...}` says it", source_nccl},
          {"NCCL_MIN_NRINGS", "`collective: {channels: ...}` says it", source_nccl},
          {"NCCL_MAX_NRINGS", "`collective: {channels: ...}` says it", source_nccl},
          {"NCCL_BUFFSIZE", "a channel's buffer is that of the release's default", source_nccl},
          {"NCCL_TOPO_FILE", "`cluster.node` says what the machine is", source_nccl},
          {"NCCL_P2P_DISABLE", "`peer_to_peer` of the node says it", source_nccl},
          {"NCCL_P2P_LEVEL", "`peer_to_peer` of the node says it", source_nccl},
          {"NCCL_NET_GDR_LEVEL", "`gpudirect` of the node says it", source_nccl},
          {"NCCL_SHM_DISABLE", reason_not_modelled, source_nccl}});
}

void append_horovod(std::vector<IdleVariable>& table) {
  for (const char* name : {"HOROVOD_TIMELINE", "HOROVOD_TIMELINE_MARK_CYCLES",
                           "HOROVOD_AUTOTUNE_LOG", "HOROVOD_DISABLE_NVTX_RANGES"}) {
    table.push_back({name, reason_prints, source_horovod});
  }
  for (const char* name : {"HOROVOD_LOG_LEVEL", "HOROVOD_LOG_HIDE_TIME"}) {
    table.push_back({name, reason_prints, "horovod/common/logging.cc"});
  }
  for (const char* name : {"HOROVOD_STALL_CHECK_DISABLE", "HOROVOD_STALL_CHECK_TIME_SECONDS",
                           "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "HOROVOD_ELASTIC"}) {
    table.push_back({name, reason_waits, source_horovod});
  }
  table.push_back(
      {"HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "`autotune` scores steps that are warm", source_horovod});
  table.push_back({"HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE",
                   "`autotune` takes the default, 0.8 bytes/us", source_horovod});
  for (const char* name :
       {"HOROVOD_MPI_THREADS_DISABLE", "HOROVOD_CPU_OPERATIONS", "HOROVOD_CONTROLLER",
        "HOROVOD_CCL_CACHE", "HOROVOD_ADASUM_MPI_CHUNK_SIZE", "HOROVOD_ENABLE_ASYNC_COMPLETION",
        "HOROVOD_DYNAMIC_PROCESS_SETS", "HOROVOD_ENABLE_XLA_OPS"}) {
    table.push_back({name, reason_not_modelled, source_horovod});
  }
  table.push_back({"HOROVOD_THREAD_AFFINITY", reason_cores, source_horovod});
  table.push_back({"HOROVOD_GLOO_IFACE", reason_network, source_horovod});
}

void append_byteps(std::vector<IdleVariable>& table) {
  for (const char* name : {"DMLC_ROLE", "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_WORKER_ID",
                           "BYTEPS_LOCAL_RANK", "BYTEPS_LOCAL_SIZE"}) {
    table.push_back({name, reason_finds, source_byteps});
  }
  table.push_back({"DMLC_NUM_WORKER", reason_machines, source_byteps});
  table.push_back({"DMLC_INTERFACE", reason_network, "bytedance/ps-lite src/van.cc"});
  table.push_back({"DMLC_ENABLE_RDMA", reason_network, source_byteps});
  for (const char* name : {"BYTEPS_TRACE_ON", "BYTEPS_TRACE_START_STEP", "BYTEPS_TRACE_END_STEP",
                           "BYTEPS_TRACE_DIR"}) {
    table.push_back({name, reason_prints, source_byteps_global});
  }
  for (const char* name :
       {"BYTEPS_LOG_LEVEL", "BYTEPS_DEBUG_SAMPLE_TENSOR", "BYTEPS_ENABLE_GDB", "PS_VERBOSE"}) {
    table.push_back({name, reason_prints, source_byteps});
  }
  for (const char* name : {"BYTEPS_SERVER_DEBUG", "BYTEPS_SERVER_DEBUG_KEY", "PS_KEY_LOG"}) {
    table.push_back({name, reason_prints, source_byteps_server});
  }
  for (const char* name : {"BYTEPS_TELEMETRY_ON", "BYTEPS_TELEMETRY_INTERVAL"}) {
    table.push_back({name, reason_prints, "byteps/common/telemetry.cc"});
  }
  for (const char* name : {"BYTEPS_NUMA_ON", "BYTEPS_NUMA_DEFAULT_QUOTA", "BYTEPS_CPU_BLACKLIST",
                           "BYTEPS_VISIBLE_CPU_CORES", "BYTEPS_MULTITHREADED_CPU"}) {
    table.push_back({name, reason_cores, source_byteps});
  }
  table.insert(table.end(),
               std::initializer_list<IdleVariable>{{"BYTEPS_OMP_THREAD_PER_GPU",
                                                    "`sum_rate` says how fast a machine adds",
                                                    "byteps/common/cpu_reducer.cc"}});
  for (const char* name : {"BYTEPS_SOCKET_PATH", "DMLC_NODE_HOST"}) {
    table.push_back({name, reason_finds, "byteps/common/communicator.cc; ps-lite src/van.cc"});
  }
  for (const char* name :
       {"BYTEPS_DISABLE_P2P", "BYTEPS_DISABLE_CPU_ALLREDUCE", "BYTEPS_DISABLE_GPU_ALLREDUCE"}) {
    table.push_back({name, reason_not_modelled, source_byteps});
  }
}

void append_others(std::vector<IdleVariable>& table) {
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
    table.push_back({name, reason_finds, source_torch});
  }
  for (const char* name : {"TORCH_DISTRIBUTED_DEBUG", "TORCH_CPP_LOG_LEVEL"}) {
    table.push_back({name, reason_prints, source_torch});
  }
  table.push_back({"GLOO_SOCKET_IFNAME", reason_network, source_torch});
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    table.push_back({name, reason_cores, "OpenMP 5.2, chapter 21; oneMKL developer guide"});
  }
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    table.push_back({name, "`cluster.gpus_per_node` says how many GPUs there are",
                     "CUDA programming guide; NVIDIA container toolkit"});
  }
  table.push_back({"CUDA_LAUNCH_BLOCKING", reason_not_modelled, "CUDA programming guide"});
  table.push_back({"CUDA_DEVICE_MAX_CONNECTIONS", reason_not_modelled, "CUDA programming guide"});
  table.push_back({"TF_CPP_MIN_LOG_LEVEL", reason_prints, "tensorflow/core/platform/logging"});
  for (const char* name : {"KUNGFU_CONFIG_LOG_LEVEL", "KUNGFU_CONFIG_SHOW_DEBUG_LOG",
                           "KUNGFU_CONFIG_ENABLE_MONITORING", "KUNGFU_CONFIG_MONITORING_PERIOD"}) {
    table.push_back({name, reason_prints, source_kungfu});
  }
  table.push_back({"KUNGFU_CONFIG_ENABLE_STALL_DETECTION", reason_waits, source_kungfu});
}

}  // namespace

const std::vector<IdleVariable>& idle_variables() {
  static const std::vector<IdleVariable> table = [] {
    std::vector<IdleVariable> all;
    append_nccl(all);
    append_horovod(all);
    append_byteps(all);
    append_others(all);
    return all;
  }();
  return table;
}

}  // namespace gradwire::config
