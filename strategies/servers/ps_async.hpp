#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "strategies/parts/lane.hpp"
#include "strategies/parts/step_strategy.hpp"
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
class PsAsync final : public StepStrategy {
 public:
  PsAsync(const PsAsyncOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  /// Of a group of variables: updates by others between its pull and the worker's own update.
  [[nodiscard]] std::optional<double> staleness() const override;

 private:
  struct Worker {
    Worker(PsAsync& strategy, WorkerId id);

    int iteration = 0;
    bool held = false;         ///< waits for the slowest
    OperationId released = 0;  ///< flag: may begin; of a held worker
    WorkerVariables variables;
    std::vector<std::int64_t> read;  ///< updates of a group before its last pull
    int applied = 0;                 ///< groups
    OperationId over = 0;            ///< flag: all groups applied
    Lane push;
    Lane pull;
  };

  void begin(int iteration, WorkerId id) override;
  void forward(int layer, WorkerId id) override;
  void gradient(TensorId tensor, WorkerId id) override;
  void finish(WorkerId id) override;

  void begin_pulls(WorkerId id);
  void pull(WorkerId id, int index, OperationId flag);
  void push(WorkerId id, int index, OperationId flag);
  void applied(WorkerId id, int index, OperationId flag);
  void release();
  [[nodiscard]] bool too_far_ahead(const Worker& worker) const;
  [[nodiscard]] LaneItem item(WorkerId id, int index, bool pushes, Poster::Then then) const;
  /// The message of a worker that carries an item: its key is the group.
  [[nodiscard]] Messages message(WorkerId id, const LaneItem& item, bool pushes);
  /// What the processes at both ends do while a group is on the links; none where calls are free.
  [[nodiscard]] Operations call_work(WorkerId id, const VariableGroup& group, bool pushes) const;
  [[nodiscard]] Worker& worker(WorkerId id) { return workers_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const VariableGroup& group(int index) const {
    return groups_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] int exchange(WorkerId worker, int server, bool push) const;

  PsAsyncOptions options_;
  std::vector<Endpoint> places_;
  std::vector<VariableGroup> groups_;
  std::vector<std::vector<int>> of_tensor_;
  std::vector<std::vector<int>> of_layer_;
  std::vector<int> forward_;
  std::deque<Worker> workers_;
  std::vector<int> clocks_;             ///< iterations that a worker has had applied
  int slowest_ = 0;                     ///< the least of them
  std::vector<std::int64_t> versions_;  ///< updates of a group so far
  std::int64_t updates_ = 0;            ///< of all groups
  std::int64_t missed_ = 0;             ///< the sum of their stalenesses
};

}  // namespace gradwire
