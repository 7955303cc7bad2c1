#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/host_cpu.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/poster.hpp"
#include "strategies/parts/remote_calls.hpp"

namespace gradwire {

/// Which server holds a variable.
enum class VariablePlacement : std::uint8_t {
  round_robin,  ///< in registration order
  by_load,      ///< in registration order, each to the server with the fewest bytes so far
  partitioned,  ///< every variable in equal parts on all servers
  /// In registration order, each in as many equal parts as the least divisor (from 2 on) of its
  /// first dimension in TensorFlow's order says, to the servers with the fewest bytes so far.
  by_divisor,
};

/// Default of the knob `message` where every worker's messages are simulated one by one: ours, so
/// that many workers stay quick.
constexpr Bytes coarse_message{16LL * 1024 * 1024};

/// Knobs that every strategy with parameter servers has.
struct ParameterServerOptions {
  VariablePlacement placement = VariablePlacement::round_robin;
  Bytes message{1};  ///< variables of one server travel in messages of at least this size
  /// Messages at a time, each way; of a worker, or of all with a server. Assumed.
  int in_flight = 4;
  bool in_forward_order = false;  ///< pulls are asked for by the order of the forward pass
  std::uint64_t seed = 1;         ///< of the arbitrary order
  /// By which one server sums or applies gradients. That it does so at the rate of one core is
  /// assumed.
  HostCpu server_cpu{};
  RemoteCalls calls;  ///< that carry the variables
};

/// Reads them: `variables`, `message`, `pull_order`, `seed`, and that of read_remote_calls.
/// @param message  default of the knob of this name.
[[nodiscard]] ParameterServerOptions read_parameter_servers(Knobs& knobs, Bytes message);

/// Variables that travel together between a worker and the server that holds them.
struct VariableGroup {
  int server = 0;
  std::vector<TensorId> tensors;  ///< in gradient order
  /// Of the variables, or of the server's parts of them; of those with sparse gradients the rows
  /// that are pushed, and pulled: TensorFlow runs their lookup on the server.
  Bytes size{0};

  /// Adding the group to another of its size, or applying it: each variable by itself, of the
  /// group's mean size.
  [[nodiscard]] Seconds sum_time(const HostCpu& cpu) const;
};

/// A worker's own step, which goes beside its pushes: servers apply them, but what that takes off a
/// worker is not known (LayerGates::post).
[[nodiscard]] inline OptimizerStep worker_step(WorkerId worker) {
  return {.share = 1, .label = "update", .worker = worker};
}

/// Groups of a model over `servers` servers, in the order in which backward completes them. A group
/// is closed when it holds at least `options.message`.
/// Sources: TensorFlow, tf.train.replica_device_setter (round robin) and
/// tf.contrib.training.GreedyLoadBalancingStrategy with byte_size_load_fn (by load); AutoDist
/// (petuum/autodist), strategy/partitioned_ps_strategy.py (by divisor).
[[nodiscard]] std::vector<VariableGroup> variable_groups(const JobView& job, int servers,
                                                         const ParameterServerOptions& options);

/// For every layer the groups with variables of it, once each.
[[nodiscard]] std::vector<std::vector<int>> groups_of_layers(
    const JobView& job, const std::vector<VariableGroup>& groups);

/// The groups by the first layer that needs them.
[[nodiscard]] std::vector<int> forward_order(const JobView& job,
                                             const std::vector<VariableGroup>& groups);

/// The order in which `worker` asks for the groups in `iteration`: `forward`, or an arbitrary one
/// that depends on the arguments only.
[[nodiscard]] std::vector<int> pull_order(const ParameterServerOptions& options,
                                          const std::vector<int>& forward, int iteration,
                                          int worker);

/// For every tensor the groups that hold it or a part of it.
[[nodiscard]] std::vector<std::vector<int>> groups_of_tensors(
    const JobView& job, const std::vector<VariableGroup>& groups);

/// A worker's iteration, by groups: which have all their gradients, and which are pulled.
class WorkerVariables {
 public:
  explicit WorkerVariables(const std::vector<VariableGroup>& groups);

  /// An iteration begins: posts a flag for each group that is to be pulled.
  void begin(Poster& poster);
  /// To be raised when the group is pulled.
  [[nodiscard]] OperationId pull(int group) const {
    return pulls_[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] const std::vector<OperationId>& pulls() const { return pulls_; }
  /// Those of the iteration before; empty in the first.
  [[nodiscard]] const std::vector<OperationId>& last_pulls() const { return last_pulls_; }
  /// A gradient of this group has been launched. @return it is the last one.
  bool arrived(int group) { return --missing_[static_cast<std::size_t>(group)] == 0; }
  /// What the worker launches next waits for these groups' flags among `pulls`, unless a gate of
  /// this iteration does. Nothing where `pulls` is empty.
  void gate(Poster& poster, const std::vector<OperationId>& pulls, const std::vector<int>& groups,
            WorkerId worker = 0);

 private:
  std::vector<int> gradients_;  ///< by group
  std::vector<int> missing_;    ///< gradients of a group not yet launched
  std::vector<bool> waited_;    ///< by group: a gate of this iteration does
  std::vector<OperationId> pulls_;
  std::vector<OperationId> last_pulls_;
};

/// For `show plan`: where each group goes.
[[nodiscard]] std::vector<PlanGroup> plan_of(const JobView& job,
                                             const std::vector<VariableGroup>& groups);

}  // namespace gradwire
