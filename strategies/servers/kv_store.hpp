#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/servers/parameter_server.hpp"
#include "strategies/servers/server_exchanges.hpp"

namespace gradwire {

/// MXNet's distributed key-value store, under its own names, and what the model needs beside them.
struct KvStoreOptions {
  /// dist_sync: a machine's GPUs are summed on its CPU; dist_device_sync: on the first GPU. Of one
  /// machine without servers: local, device.
  std::string kv_store = "dist_sync";
  bool update_on_kvstore = true;          ///< MXNET_UPDATE_ON_KVSTORE: servers run the optimizer
  std::int64_t bigarray_bound = 1000000;  ///< MXNET_KVSTORE_BIGARRAY_BOUND, elements
  int reduction_threads = 4;              ///< MXNET_KVSTORE_REDUCTION_NTHREADS
  Bytes socket_buffer{512LL * 1024};      ///< what a connection takes in one go; assumed
  int connections = 1;                    ///< TCP, between a worker machine and a server
  BytesPerSecond sum_rate{0};             ///< of gradient, a worker's CPU or a server
  BytesPerSecond loopback_bandwidth = assumed_loopback_rate;  ///< of a colocated pair
};

/// Reads them. @param kinds  of stores that there are.
[[nodiscard]] KvStoreOptions read_kv_store(Knobs& knobs, const std::vector<std::string>& kinds = {
                                                             "dist_sync", "dist_device_sync"});

/// A machine's CPU sums the gradients of its GPUs, of `size` each: comm.h, ReduceSumCPU.
[[nodiscard]] Seconds local_sum_time(const KvStoreOptions& options, const JobView& job, int gpus,
                                     Bytes size);

/// What follows a push_pull.
struct KvStoreEnds {
  Poster::Then pushed{};  ///< the server has the gradient and has said so
  Poster::Then pulled{};  ///< the new value is on every GPU
};

/// Workers' side and servers of MXNet's KVStore: sum over the machine's GPUs, copy to the host,
/// push; the server sums over machines and may run the optimizer; pull, copy to the GPUs.
///
/// Source: apache/mxnet, src/kvstore/{kvstore_dist.h,kvstore_dist_server.h,comm.h}.
class KvStore {
 public:
  /// @param asks  a pull is asked for after the push was acknowledged; false: the server sends the
  ///              value by itself (P3's immediate broadcast).
  /// Uses exchanges, streams and host threads from 0 (streams: 1).
  KvStore(Poster& poster, const KvStoreOptions& options, const JobView& job, bool asks);
  KvStore(const KvStore&) = delete;
  KvStore& operator=(const KvStore&) = delete;

  void visit_exchanges(const ExchangeVisit& visit) const;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const;
  [[nodiscard]] int servers() const { return layout_.servers(); }

  /// Pushes and pulls a key of one server; more urgent ones (`item.priority`) overtake those that
  /// wait.
  void push_pull(const LaneItem& item, int server, const KvStoreEnds& ends);

  /// What of a key lies on a server.
  struct Shard {
    int server = 0;
    Bytes size{0};
  };
  /// All of a small key on one server, a big one in even shares on all: EncodeDefaultKey.
  [[nodiscard]] std::vector<Shard> shards_of(std::int64_t elements, std::int64_t key) const;
  /// The same with all shards of a key, which a machine sums before and spreads after.
  void push_pull_key(const LaneItem& item, const KvStoreEnds& ends);

 private:
  [[nodiscard]] bool on_gpu() const { return options_.kv_store == "dist_device_sync"; }
  [[nodiscard]] bool local() const { return layout_.local_size() > 1; }
  void to_server(const LaneItem& item, int server, const KvStoreEnds& ends);
  void sum_locally(const LaneItem& item, Poster::Then then);
  void distribute_locally(const LaneItem& item, Poster::Then then);
  void node_collective(CollectiveKind kind, const LaneItem& item, Poster::Then then);

  Poster* poster_;
  KvStoreOptions options_;
  JobView job_;
  ServerLayout layout_;
  Lane to_host_;
  Lane cpu_sum_;
  Lane to_gpus_;
  std::deque<ParameterServer> servers_;
};

}  // namespace gradwire
