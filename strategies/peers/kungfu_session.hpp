#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/lane.hpp"
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
  /// @param poster  outlives it.
  KungfuSession(const KungfuSessionOptions& options, const JobView& job,
                const std::vector<int>& peers, Poster& poster);
  KungfuSession(const KungfuSession&) = delete;  // parts point into it
  KungfuSession& operator=(const KungfuSession&) = delete;

  /// Exchanges for the strategy that owns the session: they are its first ones.
  [[nodiscard]] const std::vector<Exchange>& exchanges() const { return exchanges_; }

  /// Starts on a tensor that is ready on every peer. REQUIRES: several peers where it is of host
  /// memory.
  /// @param id    of the tensor among the job's; of host memory unused.
  /// @param then  called when it is back on every GPU.
  void start(TensorId id, const TensorInfo& info, Kind kind, Poster::Then then);

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
  struct Job {
    TensorId id = 0;
    Bytes size{0};
    Kind kind = Kind::all_reduce;
    std::string name;
    std::int64_t elements = 0;
    Poster::Then then;
    std::size_t parts = 0;  ///< still on their way
  };
  using JobPtr = std::shared_ptr<Job>;

  void add_stages(const std::vector<std::vector<KungfuEdge>>& levels, bool sums, const JobView& job,
                  const std::vector<int>& peers, Way& way);
  /// The step of the busiest peer that does this task.
  /// @param count_of_rank  sockets or arrays of each.
  /// @param active  by machine, as KungfuHost's.
  [[nodiscard]] Stage busiest(Task task, const std::map<int, int>& count_of_rank,
                              const std::map<int, int>& active, const JobView& job) const;
  int exchange_of(const std::vector<Message>& messages);
  void split(const JobPtr& job);
  void copy_back(const JobPtr& job);
  /// A part of a tensor has gone its way.
  void part_over(const JobPtr& job);
  /// So many bytes of a tensor on their way.
  struct Part {
    JobPtr job;
    Bytes size{0};
    const Way* way = nullptr;
    Poster::Then then;          ///< called at its end
    std::size_t stage = 0;      ///< of the way
    std::size_t under_way = 0;  ///< of what that stage does
    Poster::Then one_over{};    ///< called when one of these is: the place's own
  };
  void set_out(const JobPtr& job, Bytes size, const Way& way, Poster::Then then);
  /// From its stage on.
  void go(Part& part);
  void work(Bytes size, const Stage& stage, const Poster::Then& then);

  KungfuSessionOptions options_;
  KungfuHost host_;
  std::int64_t element_size_;
  Poster* poster_;
  std::vector<Exchange> exchanges_;
  std::map<std::vector<std::pair<int, int>>, int> known_;  ///< messages -> exchange
  Way to_host_;
  Way to_gpu_;
  std::vector<Way> all_reduce_;
  std::vector<Way> broadcast_;
  std::deque<Lane> lanes_;         ///< by exchange
  std::deque<Part> parts_;         ///< places of those on their way, and of such that have been
  std::vector<Part*> free_parts_;  ///< of them the latter
};

}  // namespace gradwire
