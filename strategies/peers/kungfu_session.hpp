#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/operation_writer.hpp"
#include "strategies/parts/window_queue.hpp"
#include "strategies/peers/kungfu_graphs.hpp"
#include "strategies/peers/kungfu_host.hpp"

namespace gradwire {

/// Knobs of KungFu's CPU collectives.
struct KungfuSessionOptions {
  KungfuGraph graph = KungfuGraph::automatic;
  bool hash_by_name = false;  ///< KUNGFU_CONFIG_STRATEGY_HASH_METHOD=NAME; else by the part's index
  Bytes part{1024LL * 1024};  ///< chunkSize of srcs/go/kungfu/session/session.go
  /// Most operations that the parts of a tensor on one graph are moved by.
  int operations = 32;
  int window = 2;  ///< parts in flight between the same peers
  KungfuHostOptions host{};
  bool config_server = false;  ///< of an elastic job; asked for behind every step
};

/// Reads them: `graph`, `strategy_hash_method`, `part`, `operations`, `window`, `sum_rate` and
/// those of read_kungfu_host.
[[nodiscard]] KungfuSessionOptions read_kungfu_session(Knobs& knobs);

/// Reads `config_server`. @return there is one.
[[nodiscard]] bool read_kungfu_config_server(Knobs& knobs);

/// KungFu's all-reduce of tensors in GPU memory through the host's CPU and sockets: copy to host
/// memory, split into parts, each part up a reduce graph and down a broadcast graph, stored and
/// forwarded at each peer, summed by the CPU, copy back. Tensors and parts move independently.
///
/// Between the same peers, and between a GPU and its host, parts move in the order in which they
/// came up, `window` at a time (a connection a pair of peers). Edges within a machine are unix
/// sockets: they take no link but the CPU of both peers, as a sum takes that of the peer that
/// receives, at what KungfuHost says: a peer's sends, receptions and sums each go one after the
/// other, and share its cores. Of the peers that work in a step the busiest counts, of equally busy
/// ones the first. Where a tensor has more parts on a graph than `operations`, neighbouring parts
/// move together: the same bytes, and a longer first and last step of the pipeline. A peer sends a
/// broadcast to all behind it at once, over links and sockets.
///
/// Source: lsds/KungFu, srcs/go/kungfu/session/session.go (runGraphs, runStrategiesWithHash) and
/// shard.go; connections: srcs/go/rchannel/connection/connection.go.
class KungfuSession {
 public:
  enum class Kind : std::uint8_t {
    all_reduce,
    broadcast,
    host_all_reduce,  ///< of host memory: nothing is copied from or to a GPU
  };

  /// @param peers  ranks that take part, one a GPU that is copied from and to.
  KungfuSession(const KungfuSessionOptions& options, const JobView& job,
                const std::vector<int>& peers);
  KungfuSession(const KungfuSession&) = delete;  // parts point into it
  KungfuSession& operator=(const KungfuSession&) = delete;

  /// Exchanges for the strategy that owns the session: they are its first ones.
  [[nodiscard]] const std::vector<Exchange>& exchanges() const { return exchanges_; }

  /// Starts on a tensor that is ready on every peer. Numbers from the job's count of tensors on are
  /// further values of its tensors, by their order, or others'. REQUIRES: several peers where it is
  /// of host memory.
  void start(TensorId tensor, const TensorInfo& info, Kind kind, OperationWriter& writer);

  /// Goes on after an operation has ended.
  /// @return the tensor, when it is back on every GPU with this.
  std::optional<TensorId> advance(OperationId operation, OperationWriter& writer);

 private:
  /// What a peer's CPU does in a step.
  enum class Task : std::uint8_t { send, receive, sum };
  /// A step of a part's way: messages over links, work of a peer's CPU, or both at once.
  struct Stage {
    int exchange = -1;  ///< -1: on the CPU only
    int rank = 0;       ///< the busiest peer
    Task task = Task::send;
    KungfuHost::Work work{};  ///< of that peer; none: nobody's
  };
  using Way = std::vector<Stage>;
  struct Part {
    TensorId tensor = 0;
    Bytes size{0};
    const Way* way = nullptr;
    std::size_t stage = 0;
    std::shared_ptr<int> under_way{};  ///< operations of the stage
  };
  struct Moving {
    Part part;
    int exchange = -1;  ///< that it moves by; -1: on the CPU
  };
  struct Job {
    Bytes size{0};
    Kind kind = Kind::all_reduce;
    std::string name;
    std::int64_t elements = 0;
    int parts = 0;  ///< still on their way
  };

  void add_stages(const std::vector<std::vector<KungfuEdge>>& levels, bool sums, const JobView& job,
                  const std::vector<int>& peers, Way& way);
  /// The step of the busiest peer that does this task.
  /// @param count_of_rank  sockets or arrays of each.
  /// @param active  by machine, as KungfuHost's.
  [[nodiscard]] Stage busiest(Task task, const std::map<int, int>& count_of_rank,
                              const std::map<int, int>& active, const JobView& job) const;
  int exchange_of(const std::vector<Message>& messages);
  void split(TensorId tensor, OperationWriter& writer);
  void copy_back(TensorId tensor, OperationWriter& writer);
  /// A part of a tensor has gone its way. @return the tensor, when it is back with this.
  std::optional<TensorId> part_over(TensorId tensor, OperationWriter& writer);
  void arrive(Part part, OperationWriter& writer);
  void work(const Part& part, const Stage& stage, OperationWriter& writer);
  void send(int exchange, OperationWriter& writer);

  KungfuSessionOptions options_;
  KungfuHost host_;
  std::int64_t element_size_;
  TensorId tensors_;  ///< of the job
  std::vector<Exchange> exchanges_;
  std::map<std::vector<std::pair<int, int>>, int> known_;  ///< messages -> exchange
  Way to_host_;
  Way to_gpu_;
  std::vector<Way> all_reduce_;
  std::vector<Way> broadcast_;
  std::vector<WindowQueue<Part>> queues_;  ///< by exchange
  std::unordered_map<TensorId, Job> jobs_;
  std::unordered_map<OperationId, Moving> moving_;
};

}  // namespace gradwire
