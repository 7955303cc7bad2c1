#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "strategies/parts/operation_writer.hpp"
#include "strategies/parts/window_queue.hpp"
#include "strategies/servers/variable_groups.hpp"

namespace gradwire {

/// What a parameter server counts as one worker.
enum class ServedWorker : std::uint8_t {
  gpu,      ///< every GPU pushes and pulls for itself, from a process of its own
  tower,    ///< the same from one process a machine
  machine,  ///< a machine's GPUs are summed in its host memory, and it pushes and pulls once
};

struct PsSyncOptions {
  ParameterServerOptions servers;
  ServedWorker worker = ServedWorker::gpu;
  /// Pulls begin when all variables are updated; else each when its own is.
  bool barrier = true;
  /// A layer's forward waits for its own variables only; else the next iteration for all of them.
  bool layer_wait = true;
  /// Of a worker's process, for each variable (or part of one) that it takes over from any server
  /// once there are several machines: its token, its read and its assignment, one after the other.
  Seconds variable_time{};
};

/// Synchronous parameter servers. Each gradient is copied to host memory and pushed when it is
/// ready on every worker; the server sums all workers' and updates the variable; workers pull it,
/// and the next forward waits for what it reads. The servers run the optimizer.
///
/// A group's copies from the GPUs, pushes, sums and pulls follow one another; groups overlap.
///
/// Sources: TensorFlow 1, tf.train.replica_device_setter and tf.train.SyncReplicasOptimizer (an
/// accumulator a variable; tokens that start the next step are given when all are updated);
/// tensorflow/benchmarks, variable_update=parameter_server and distributed_replicated (machine);
/// AutoDist, PS and PSLoadBalancing (one replica group a machine).
class PsSync final : public Strategy {
 public:
  PsSync(const PsSyncOptions& options, JobView job);
  static StrategyMaker read(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  enum class Stage : std::uint8_t { ready, on_host, summed_here, pushed, updated, pulled };
  struct Pending {
    Stage stage = Stage::ready;
    int group = 0;
    OperationId flag = 0;              ///< to raise when the group is pulled
    int exchange = -1;                 ///< that it moves by; -1: none
    std::shared_ptr<int> under_way{};  ///< operations of the stage; null: one
  };

  void start_iteration();
  void gate(const std::vector<int>& groups);
  void hook(TensorId tensor);
  void advance(OperationId operation);
  /// Posts `operation` for `group`; when it ends the group has reached `stage`.
  void post(Stage stage, int group, OperationId flag, Operation operation);
  /// Queues `group` for `exchange`; when it has moved it has reached `stage`.
  void move(Stage stage, int group, OperationId flag, int exchange);
  void send(int exchange);
  /// Pushers (pullers) that reach a server by remote calls.
  struct Callers {
    int all = 0;
    int of_process = 0;  ///< the most of one process
  };
  [[nodiscard]] Callers callers_of(const Endpoint& server) const;
  /// What the processes at both ends do while `moving` is on the links; none where calls are free.
  [[nodiscard]] std::vector<HostWork> call_work(const Pending& moving) const;
  [[nodiscard]] std::vector<int> pushing_ranks() const;
  [[nodiscard]] int pushers() const { return static_cast<int>(pushing_ranks().size()); }
  [[nodiscard]] const VariableGroup& group(int index) const {
    return groups_[static_cast<std::size_t>(index)];
  }

  PsSyncOptions options_;
  JobView job_;
  std::vector<Endpoint> places_;
  std::vector<Callers> callers_;  ///< by server
  std::vector<VariableGroup> groups_;
  std::vector<std::vector<int>> of_tensor_;
  std::vector<std::vector<int>> of_layer_;
  std::vector<int> forward_;  ///< groups in the order of the forward pass
  int iteration_ = 0;
  std::vector<int> missing_;        ///< gradients of a group not yet launched in this iteration
  std::vector<OperationId> flags_;  ///< of this iteration's pulls
  std::vector<OperationId> flags_before_;     ///< of the iteration before; empty in the first
  std::vector<bool> waited_;                  ///< does this iteration's forward wait already
  std::vector<Pending> updated_;              ///< behind the barrier
  std::vector<WindowQueue<Pending>> queues_;  ///< by exchange
  std::unordered_map<OperationId, Pending> pending_;
  OperationWriter writer_;
};

}  // namespace gradwire
