#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/core/tensorflow_servers.hpp"
#include "strategies/parts/lane.hpp"
#include "strategies/parts/step_strategy.hpp"
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
  /// Variables lie on the GPUs of one machine, which send gradients to each other and read from
  /// each other. A GPU sends in one stream, one tensor after the other; what the owners' sums and
  /// updates take of them is not counted. Without peer access the driver copies by way of host
  /// memory, for one process one tensor after the other and beside no compute: on eight RTX 3090
  /// and four RTX 4090 (results/reference/blind3.yaml) what a step takes beyond one GPU's is the
  /// same for batches of 64 and 512, and as long as the bytes of all copies take one link.
  bool on_gpus = false;
  /// Pulls begin when all variables are updated; else each when its own is.
  bool barrier = true;
  /// A layer's forward waits for its own variables only; else the next iteration for all of them.
  bool layer_wait = true;
  Seconds variable_time{};  ///< TensorflowServers'
};

/// Synchronous parameter servers. Each gradient is copied to host memory and pushed when it is
/// ready on every worker; the server sums all workers' and updates the variable; workers pull it,
/// and the next forward waits for what it reads. The servers run the optimizer.
///
/// A group's copies from the GPUs, pushes, sums and pulls follow one another; groups overlap.
///
/// Sources: TensorFlow 1, tf.train.replica_device_setter and tf.train.SyncReplicasOptimizer (an
/// accumulator a variable; tokens that start the next step are given when all are updated);
/// tensorflow/benchmarks, variable_update=parameter_server and distributed_replicated (machine),
/// local_parameter_device (on GPUs; variable_mgr_util.py, ParamServerDeviceSetter: each variable on
/// the GPU with the fewest elements so far, read by all and sent all gradients as they are;
/// TensorFlow, common_runtime/gpu/gpu_util.cc, DeviceToDeviceCopy: the sender's stream for copies);
/// AutoDist, PS and PSLoadBalancing (one replica group a machine).
class PsSync final : public StepStrategy {
 public:
  PsSync(const PsSyncOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs, const TensorflowServers& servers);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override { return {}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  void visit_exchanges(const ExchangeVisit& visit) const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  /// A group's exchange in one iteration: it may outlive it.
  struct Flight {
    int group = 0;
    OperationId flag = 0;  ///< to raise when the group is pulled
  };
  /// Pushers (pullers) that reach a server by remote calls.
  struct Callers {
    int all = 0;
    int of_process = 0;  ///< the most of one process
  };

  void begin(int iteration, WorkerId worker) override;
  void forward(int layer, WorkerId worker) override;
  void gradient(TensorId tensor, WorkerId worker) override;
  void finish(WorkerId worker) override;

  void ready(const Flight& flight);
  void on_host(const Flight& flight);
  void push(const Flight& flight);
  void pushed(const Flight& flight);
  void updated(const Flight& flight);
  void pull(const Flight& flight);
  [[nodiscard]] LaneItem item(const Flight& flight, const char* label, Poster::Then then) const;
  [[nodiscard]] Callers callers_of(const Endpoint& server) const;
  /// What the processes at both ends do while a group is on the links; none where calls are free.
  [[nodiscard]] Operations call_work(const VariableGroup& group, bool pushes) const;
  [[nodiscard]] std::vector<int> pushing_ranks() const;
  [[nodiscard]] int pushers() const { return static_cast<int>(pushing_ranks().size()); }
  [[nodiscard]] const VariableGroup& group(int index) const {
    return groups_[static_cast<std::size_t>(index)];
  }

  PsSyncOptions options_;
  std::vector<Endpoint> places_;
  std::vector<Callers> callers_;  ///< by server
  std::vector<VariableGroup> groups_;
  std::vector<std::vector<int>> of_tensor_;
  std::vector<std::vector<int>> of_layer_;
  std::vector<int> forward_;  ///< groups in the order of the forward pass
  int iteration_ = 0;
  WorkerVariables variables_;    ///< alike in all workers
  std::vector<Flight> updated_;  ///< by group, behind the barrier
  std::size_t updates_ = 0;      ///< of them
  bool in_turn_;                 ///< copies wait for each other, and for the GPUs
  std::vector<Flight> held_;     ///< until backward is done, where they do
  Lane off_gpus_;
  std::deque<Lane> push_;  ///< by server
  std::deque<Lane> pull_;  ///< by server
};

}  // namespace gradwire
