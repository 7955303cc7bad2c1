#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/engine/engine.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/launcher.hpp"
#include "sim/train/operation_log.hpp"
#include "sim/train/phases.hpp"
#include "sim/train/plans.hpp"
#include "sim/train/summary.hpp"
#include "sim/train/training.hpp"
#include "sim/train/workers.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// A class of workers: the clocks of its ranks and its launcher thread.
struct WorkerLane {
  Workers workers;
  IterationDraws draws;
  int iteration = 0;
  std::size_t step = 0;  ///< of the launch script
  bool hooked = false;   ///< the pre-hook of that step has run
  double base = 0;       ///< start of the iteration on the first rank
  double host = 0;       ///< launcher time since then
  double wake = std::numeric_limits<double>::infinity();  ///< when the engine will look at it again
  double side_free = 0;                                   ///< when its side stream is
  bool dirty = false;                      ///< something has changed that may let it run on
  std::optional<OperationId> waits_for{};  ///< of a gate, where it is noted among the waiters
};

/// What moves by itself: a collective ready at once, or messages.
struct MovingData {
  OperationId id = 0;
  PatternId pattern = 0;
  CollectiveCost cost;
  Bytes size{0};
  std::vector<TensorId> tensors;
  std::string label;
  int stream = 0;      ///< > 0: of a collective
  double stretch = 1;  ///< takes as long as so many times its bytes
  double start = 0;
};

/// One run: the launcher threads, the strategy they tell, the ranks' streams and the engine.
class TrainingRun {
 public:
  /// @param members  of the job's ranks; each a lane of its own where workers are independent.
  /// @throws SimulationError  as Plans.
  TrainingRun(const Job& job, std::unique_ptr<Strategy> strategy, std::vector<MemberGroup> members);

  /// To be called once. @throws SimulationError when operations are left that can never run.
  RunResult run();

 private:
  [[nodiscard]] int iterations() const { return job_.run.warmup + job_.run.iterations; }
  [[nodiscard]] double now() const { return engine_->now().count(); }
  [[nodiscard]] std::size_t traced_lane() const {
    return lanes_.size() > 1 ? summary_.slowest_member() : 0;
  }
  [[nodiscard]] bool traced(std::size_t lane) const {
    return job_.record_spans && lane == traced_lane() && lanes_[lane].iteration == job_.run.warmup;
  }
  WorkerLane& lane_of(WorkerId worker) { return lanes_[static_cast<std::size_t>(worker)]; }
  /// Memory, and what compares the result with one GPU alone.
  void tell_memory(RunResult& result) const;
  void add_lane(std::vector<MemberGroup> members);

  // training_launcher.cpp: the launcher threads

  void begin_iteration(std::size_t number);
  /// Calls back when the launcher thread of a lane is there.
  template <class Action>
  void at_launcher(std::size_t number, Action action);
  /// Launches up to the next hook, then lets time pass to it.
  void launch(std::size_t number);
  [[nodiscard]] bool has_pre_hook(const LaunchStep& step) const;
  void end_iteration(std::size_t number);
  /// Lets the log drop what no rank can still wait for.
  void forget_past();

  // training_operations.cpp: what the strategy asks for

  void tell(const Event& event);
  OperationId add(const std::string& label);
  /// An operation that asks for nothing that could still be waited for.
  void add_ended() { log_.end(log_.add(), now()); }
  void post_item(WorkerLane& lane, ComputeItem item, std::string name);
  /// Prices device work on the GPUs of class 0 and, in other_seconds_, of the others.
  double price_on_all(const DeviceWork& work);
  void post(const DeviceWork& work);
  /// Work of the side stream, which does one thing after the other.
  void post_side(OperationId id, Part part, double seconds, const DeviceWork& work);
  void post(OptimizerStep step);
  void post(Collective collective);
  void post(Messages messages);
  void post(HostWork work);
  void post(Gate gate);
  void post(const Flag& flag);
  void post(const Raise& raise);
  /// How many times as long as their bytes need an exchange's messages take now.
  [[nodiscard]] double stretch_of(int exchange) const;
  /// What the library takes for it; null in groups of one rank, where it returns at once.
  const Plans::Choice* choice_of(const Collective& collective);

  // training_transfers.cpp: what moves by itself, and what has ended

  void start(MovingData transfer);
  void transfer_done(TransferId id);
  /// Ends an operation that takes no time, after the events of this instant that are under way.
  void end_now(OperationId id);
  /// An operation has ended on every participant.
  void done(OperationId id);
  /// Lanes that may wait for an operation can run on.
  void changed(OperationId id);

  // training_streams.cpp: the ranks' streams

  /// Lets run what can run.
  void pump();
  void progress(std::size_t number);
  /// Comes back to a lane when one of its ranks gets to something that others wait for.
  void look_again(std::size_t number);
  void wait_for_gate(std::size_t number);
  void start_collective(std::size_t position);
  void collective_done(OperationId id);

  const Job& job_;
  std::unique_ptr<Strategy> strategy_;
  PhaseChoice phases_;
  Traits traits_;
  Plans plans_;
  std::unique_ptr<Engine> engine_;
  OperationLog log_;
  std::vector<MemberGroup> members_;
  Summary summary_;
  MessageDraws messages_;
  std::vector<WorkerId> worker_of_exchange_;  ///< of independent workers
  std::deque<WorkerLane> lanes_;
  /// What the launcher threads do, by worker class: the same steps with other times.
  std::vector<std::vector<LaunchStep>> scripts_;
  std::vector<double> other_seconds_;                      ///< of the item that is posted next
  std::unordered_map<OperationId, std::size_t> position_;  ///< in the communication stream
  std::unordered_map<TransferId, MovingData> in_flight_;
  std::unordered_map<int, std::deque<MovingData>> streams_;
  std::unordered_map<int, double> threads_;  ///< host thread -> when it is free
  std::unordered_map<OperationId, std::vector<std::size_t>> waiters_;
  std::size_t lanes_running_ = 0;
};

}  // namespace gradwire
