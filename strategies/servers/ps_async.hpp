#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strategies/parts/operation_writer.hpp"
#include "strategies/parts/window_queue.hpp"
#include "strategies/servers/variable_groups.hpp"

namespace gradwire {

struct PsAsyncOptions {
  ParameterServerOptions servers;
  /// Variables are pulled as soon as they are updated, and the next forward waits for them; false:
  /// by the next iteration, which begins when all are updated.
  bool pull_at_once = false;
  /// A worker may be at most this many iterations ahead of the slowest; nothing: any number.
  std::optional<int> bound;
};
/// The knobs of ps_async, which ssp shares.
[[nodiscard]] PsAsyncOptions read_ps_async(Knobs& knobs);

/// Asynchronous parameter servers: every GPU is a worker of its own. In each iteration it pulls all
/// variables, each layer's forward waits for its own; it pushes each gradient when it is ready; the
/// server applies pushes in the order of arrival; the iteration ends when all of the worker's are
/// applied. Where pulls follow updates at once, both directions are busy at a time, and nothing but
/// the variables holds the next forward. With a bound it starts an iteration (its pulls and its
/// forward) only when it is at most that far ahead of the slowest worker: stale-synchronous.
///
/// Sources: TensorFlow 1, tf.train.replica_device_setter without SyncReplicasOptimizer; lsds/KungFu
/// benchmarks/system/benchmark_ps.py:47-97 (a step is one session.run: reads, gradients, applies).
/// At once: MXNet, python/mxnet/module/module.py and model.py (_update_params_on_kvstore: push,
/// then pull, of each key), kvstore dist_async. Bound: Ho et al., More effective distributed ML via
/// a stale synchronous parallel parameter server, NIPS 2013, section 2; here without its cache:
/// every iteration pulls.
class PsAsync final : public Strategy {
 public:
  PsAsync(const PsAsyncOptions& options, JobView job);
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  /// Of a group of variables: updates by others between its pull and the worker's own update.
  [[nodiscard]] std::optional<double> staleness() const override;

 private:
  enum class Stage : std::uint8_t { pulled, ready, pushed, applied };
  struct Pending {
    Stage stage = Stage::pulled;
    WorkerId worker = 0;
    int group = 0;
    OperationId flag = 0;              ///< raised when it has been pulled
    int queue = -1;                    ///< that it moves in; -1: none
    std::shared_ptr<int> under_way{};  ///< operations of the stage; null: one
  };
  struct Worker {
    int iteration = 0;
    bool held = false;                ///< waits for the slowest
    OperationId released = 0;         ///< flag: may begin; of a held worker
    std::vector<OperationId> pulls;   ///< by group, flags: pulled in this iteration
    std::vector<OperationId> before;  ///< of the last iteration; none: nothing to wait for
    std::vector<bool> waited;         ///< by group: a gate of this iteration does
    std::vector<int> missing;         ///< gradients of a group not yet launched
    std::vector<std::int64_t> read;   ///< updates of a group before its last pull
    int applied = 0;                  ///< groups
    OperationId over = 0;             ///< flag: all groups applied
  };

  void start_iteration(int iteration, WorkerId id);
  void begin_pulls(WorkerId id);
  void gate(WorkerId id, const std::vector<int>& groups);
  void hook(WorkerId id, TensorId tensor);
  void advance(OperationId operation);
  void applied(const Pending& pending);
  void release();
  [[nodiscard]] bool too_far_ahead(const Worker& worker) const;
  /// The operation takes a worker's group, on its way to `flag`, to this stage.
  void post(Stage stage, const Pending& of, Operation operation);
  /// Queues a worker's group to be pulled or pushed.
  void move(Stage stage, Pending group);
  void send(int number);
  /// What the processes at both ends do while `moving` is on the links; none where calls are free.
  [[nodiscard]] std::vector<HostWork> call_work(const Pending& moving) const;
  [[nodiscard]] Worker& worker(WorkerId id) { return workers_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int exchange(WorkerId worker, int server, bool push) const;

  PsAsyncOptions options_;
  JobView job_;
  std::vector<Endpoint> places_;
  std::vector<VariableGroup> groups_;
  std::vector<std::vector<int>> of_tensor_;
  std::vector<std::vector<int>> of_layer_;
  std::vector<int> forward_;
  std::vector<Worker> workers_;
  std::vector<int> clocks_;             ///< iterations that a worker has had applied
  int slowest_ = 0;                     ///< the least of them
  std::vector<std::int64_t> versions_;  ///< updates of a group so far
  std::int64_t updates_ = 0;            ///< of all groups
  std::int64_t missed_ = 0;             ///< the sum of their stalenesses
  std::unordered_map<OperationId, Pending> pending_;
  std::vector<WindowQueue<Pending>> queues_;  ///< pushes, pulls of each worker
  OperationWriter writer_;
};

}  // namespace gradwire
