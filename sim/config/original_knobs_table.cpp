#include "sim/config/original_knobs.hpp"

namespace gradwire::config {

/// By system, then by name.
const std::vector<OriginalKnob>& original_knobs() {
  using enum OriginalUnit;
  static const std::vector<std::string> horovod = {"horovod"};
  static const std::vector<std::string> byteps = {"byteps"};
  static const std::vector<std::string> bytescheduler = {"bytescheduler"};
  static const std::vector<std::string> kungfu = {"kungfu_sync", "kungfu_sma", "kungfu_ada"};
  static const std::vector<OriginalKnob> table = {
      {"HOROVOD_FUSION_THRESHOLD", horovod, "fusion_threshold", bytes,
       "horovod/common/operations.cc"},
      {"HOROVOD_CYCLE_TIME", horovod, "cycle_time", milliseconds, "horovod/common/operations.cc"},
      {"HOROVOD_CACHE_CAPACITY", horovod, "cache_capacity", number,
       "horovod/common/global_state.h"},
      {"HOROVOD_HIERARCHICAL_ALLREDUCE", horovod, "hierarchical_allreduce", flag,
       "horovod/common/operations.cc"},
      {"HOROVOD_TORUS_ALLREDUCE", horovod, "torus_allreduce", flag, "horovod/common/operations.cc"},
      {"BYTEPS_PARTITION_BYTES", byteps, "partition_bytes", bytes, "byteps/common/global.cc"},
      {"BYTEPS_SCHEDULING_CREDIT", byteps, "scheduling_credit", number,
       "byteps/common/scheduled_queue.cc"},
      {"BYTEPS_SERVER_ENGINE_THREAD", byteps, "server_engine_thread", number,
       "byteps/server/server.cc"},
      {"BYTEPS_SERVER_ENABLE_SCHEDULE", byteps, "server_enable_schedule", flag,
       "byteps/server/queue.h"},
      {"BYTEPS_ENABLE_ASYNC", byteps, "enable_async", flag, "byteps/server/server.cc"},
      {"BYTESCHEDULER_PARTITION", bytescheduler, "partition", number,
       "bytescheduler/common/bytecore.py; parameters"},
      {"BYTESCHEDULER_CREDIT", bytescheduler, "credit", number,
       "bytescheduler/common/bytecore.py; parameters"},
      {"KUNGFU_ALLREDUCE_STRATEGY", kungfu, "graph", text, "srcs/go/kungfu/config"},
  };
  return table;
}

}  // namespace gradwire::config
