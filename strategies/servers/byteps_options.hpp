#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/servers/key_hash.hpp"
#include "strategies/servers/parameter_server.hpp"

namespace gradwire {

/// BytePS's environment variables without their prefix, and what the model needs beside them.
struct BytePsOptions {
  Bytes partition_bytes{4096000};         ///< BYTEPS_PARTITION_BYTES
  std::int64_t nccl_group_size = 4;       ///< BYTEPS_NCCL_GROUP_SIZE, tasks
  std::int64_t pcie_switch_size = 8;      ///< BYTEPS_PCIE_SWITCH_SIZE, GPUs
  std::int64_t scheduling_credit = 0;     ///< BYTEPS_SCHEDULING_CREDIT, partitions; 0: first come
  std::int64_t nccl_num_rings = 1;        ///< BYTEPS_NCCL_NUM_RINGS, communicators by key
  std::vector<int> reduce_roots;          ///< BYTEPS_REDUCE_ROOTS, local ranks; none: all scatter
  std::int64_t server_engine_thread = 4;  ///< BYTEPS_SERVER_ENGINE_THREAD
  bool server_engine_blocking = false;    ///< BYTEPS_SERVER_ENGINE_BLOCKING
  bool server_enable_schedule = false;    ///< BYTEPS_SERVER_ENABLE_SCHEDULE
  bool force_distributed = false;         ///< BYTEPS_FORCE_DISTRIBUTED
  bool enable_ipc = false;                ///< BYTEPS_ENABLE_IPC
  bool enable_async = false;              ///< BYTEPS_ENABLE_ASYNC: BytePsAsync
  KeyHash hash;                           ///< BYTEPS_KEY_HASH_FN and its company
  std::string framework = "pytorch";      ///< decides priorities, the order of declaration, and
                                          ///< whether step() waits on the host
  bool cross_barrier = false;             ///< byteps.torch.cross_barrier
  std::int64_t threshold = 0;             ///< elements merged before the hand-over; 0: none
  int connections = 1;                    ///< TCP, between a worker machine and a server
  BytesPerSecond sum_rate{0};             ///< of one engine thread
  BytesPerSecond loopback_bandwidth = assumed_loopback_rate;  ///< of a colocated pair without IPC
  Seconds hook_time;                                          ///< of the launcher, per tensor
  Seconds stage_time;                                         ///< of a stage's thread, per task
  Seconds update_time;  ///< of the cross barrier's poller, per parameter

  /// The GPUs of a switch, as groups of a machine's ranks (ranks_of_part).
  [[nodiscard]] int part() const { return static_cast<int>(pcie_switch_size); }
};

/// The knobs of BytePS.
[[nodiscard]] BytePsOptions read_byteps(Knobs& knobs);

}  // namespace gradwire
