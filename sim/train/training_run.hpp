#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/engine/engine.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/job.hpp"
#include "sim/train/lane_set.hpp"
#include "sim/train/operation_log.hpp"
#include "sim/train/phases.hpp"
#include "sim/train/plans.hpp"
#include "sim/train/repeats.hpp"
#include "sim/train/strategy_instance.hpp"
#include "sim/train/summary.hpp"
#include "sim/train/workers.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// A class of workers: the clocks of its ranks and its launcher thread.
struct WorkerLane {
  std::size_t number;        ///< of the lane
  std::size_t instance;      ///< of the strategy, that serves them
  std::size_t first_member;  ///< of the job's
  Workers workers;
  IterationDraws draws;
  int iteration = 0;
  std::size_t step = 0;  ///< of the launch script
  bool hooked = false;   ///< the pre-hook of that step has run
  double base = 0;       ///< start of the iteration on the first rank
  double host = 0;       ///< launcher time since then
  double wake = std::numeric_limits<double>::infinity();  ///< when the engine will look at it again
  double side_free = 0;                                   ///< when its side stream is
  double input_made = 0;                   ///< when the inputs of the present iteration were
  std::deque<double> inputs_taken{};       ///< starts of the iterations before, the last ones
  std::optional<OperationId> waits_for{};  ///< of a gate, where it is noted among the waiters
};

/// One run: the launcher threads, the strategy they tell, the ranks' streams and the engine.
class TrainingRun {
 public:
  /// @param instances  of the strategy, one a class of the job's ranks.
  /// @param members  of the job's ranks; each a lane of its own where workers are independent, else
  ///                 those of a class one.
  /// @throws SimulationError  as Plans.
  TrainingRun(const Job& job, std::vector<StrategyInstance> instances,
              std::vector<MemberGroup> members);

  /// To be called once. @throws SimulationError when operations are left that can never run.
  RunResult run();

 private:
  [[nodiscard]] int iterations() const { return job_.run.warmup + job_.run.iterations; }
  [[nodiscard]] double now() const { return engine_->now().count(); }
  /// Seconds in which data of the traced rank's instance moved.
  [[nodiscard]] double moved() const {
    return instances_[lanes_[traced_lane_].instance].activity.moving.until(now());
  }
  [[nodiscard]] bool traced(std::size_t lane) const {
    return job_.record_spans && lane == traced_lane_ && lanes_[lane].iteration == job_.run.warmup;
  }
  [[nodiscard]] std::size_t index_of(const StrategyInstance& instance) const {
    return static_cast<std::size_t>(&instance - instances_.data());
  }
  StrategyInstance& instance_of(const WorkerLane& lane) { return instances_[lane.instance]; }
  /// The lane of an instance's worker.
  [[nodiscard]] static std::size_t number_of(const StrategyInstance& instance,
                                             WorkerId worker = 0) {
    return instance.first_lane + static_cast<std::size_t>(worker);
  }
  WorkerLane& lane_of(const StrategyInstance& instance, WorkerId worker = 0) {
    return lanes_[number_of(instance, worker)];
  }
  /// A bar of the traced rank, of what an instance's ranks do together.
  void span(std::size_t instance, const char* resource, const std::string& label, double start,
            Bytes size = Bytes{0}, const std::vector<TensorId>& tensors = {});
  /// What the ranks keep that keep most, and whose strategy it is; empty: not known.
  struct Fullest {
    std::optional<RankMemory> memory;
    const StrategyInstance* instance = nullptr;
  };
  [[nodiscard]] Fullest fullest() const;
  /// @throws DoesNotFit
  void refuse_what_does_not_fit() const;
  /// Memory, and what compares the result with one GPU alone.
  void tell_memory(RunResult& result) const;
  /// Of a model whose gradients are sparse, and a strategy that exchanges them whole.
  void tell_dense_exchange(RunResult& result) const;
  void add_lane(std::size_t instance, std::vector<MemberGroup> members);

  // training_launcher.cpp: the launcher threads

  void begin_iteration(std::size_t number);
  /// An iteration begins when its inputs are made (RunSpec::input_rate).
  void wait_for_inputs(WorkerLane& lane);
  /// Calls back when the launcher thread of a lane is there.
  template <class Action>
  void at_launcher(std::size_t number, Action action);
  /// Launches up to the next hook, then lets time pass to it.
  void launch(std::size_t number);
  void end_iteration(std::size_t number);
  /// Hands the summary what all lanes have ended.
  void sum_up(std::size_t number);
  /// Lets the log drop what no rank can still wait for.
  void forget_past();

  // training_repeats.cpp: iterations that repeat those before them

  /// Begins to look for them where a run can have such.
  void watch_repeats();
  /// An iteration has ended: counts those ahead that would be the same.
  void count_repeats(WorkerLane& lane);
  void note_posted(OperationId id, int queue = 0) {
    if (repeats_) repeats_->posted(id, now(), queue);
  }
  void note_ended(OperationId id) {
    if (repeats_) repeats_->ended(id, now());
  }

  // training_operations.cpp: what the strategy asks for

  using In = StrategyInstance;  ///< whose strategy is notified or asks

  void tell(In& in, const Event& event);
  /// @param queue  as Repeats::posted.
  OperationId add(In& in, const std::string& label, int queue = 0);
  /// An operation that asks for nothing that could still be waited for.
  void add_ended(In& in) {
    const OperationId id = add(in, {});
    log_.end(id, now());
    note_ended(id);
  }
  void post_item(WorkerLane& lane, ComputeItem item, std::string name);
  /// Prices device work on the GPUs of class 0 and, in other_seconds_, of the others.
  double price_on_all(const In& in, const DeviceWork& work);
  void post(In& in, const DeviceWork& work);
  /// Work of the side stream, which does one thing after the other.
  void post_side(In& in, OperationId id, Part part, double seconds, const DeviceWork& work);
  void post(In& in, OptimizerStep step);
  void post(In& in, Collective collective);
  void post(In& in, Messages messages);
  void post(In& in, const HostWork& work);
  void post(In& in, Gate gate);
  void post(In& in, const Flag& flag);
  void post(In& in, const Raise& raise);
  /// How many times as long as their bytes need an exchange's messages take now.
  [[nodiscard]] double stretch_of(const In& in, int exchange) const;
  /// What the library takes for what is posted now, which the summary counts; null as choice_of.
  const Plans::Choice* choose_posted(const In& in, const CollectiveUse& use, Bytes size);
  /// What the library takes for it; null in groups of one rank, where it returns at once.
  const Plans::Choice* choice_of(std::size_t instance, const CollectiveUse& use, Bytes size);

  // training_program.cpp: what a program does beside computing

  /// The launcher has got to it.
  void post(std::size_t number, const Communication& communication);
  OperationId post(std::size_t number, const GroupCollective& collective);
  OperationId post(std::size_t number, const Send& send);
  OperationId post(std::size_t number, const Receive& receive);
  /// The next message from one class of ranks to another, which the other side may have posted.
  OperationId next_message(std::size_t from, std::size_t to, bool sends);
  /// What a program moves; nothing in groups of one rank. @param ends  as MovingData's.
  std::optional<MovingData> moving(OperationId id, const std::array<std::size_t, 2>& ends,
                                   const CollectiveUse& use, Bytes size, const std::string& label);
  /// A mark has been passed.
  void arrived(OperationId mark);

  // training_transfers.cpp: what moves by itself, and what has ended

  /// Behind those of its stream, if it has one.
  void queue(MovingData transfer);
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
  void start_collective(std::size_t number, std::size_t position);
  void collective_done(OperationId id);

  /// A collective of a communication stream.
  struct Posted {
    std::size_t lane;
    std::size_t position;
  };
  /// What a program moves once all who take part have got there.
  struct Meeting {
    std::optional<MovingData> moves{};  ///< known when it was posted where it begins
    int missing = 1;
  };
  /// Messages from one class of ranks to another.
  struct Messenger {
    std::deque<OperationId> posted;  ///< on one side alone
    bool by_sender = false;
  };
  /// Samples of an iteration that some lanes have ended.
  struct Ended {
    std::vector<IterationSample> samples;
    std::size_t lanes = 0;
  };

  const Job& job_;
  std::vector<StrategyInstance> instances_;
  Phasing phasing_;
  PhaseChoice phases_;
  bool independent_;
  bool dynamic_;  ///< some lane waits for more than collectives behind its own compute
  EngineOptions engine_options_;
  Plans plans_;
  std::unique_ptr<Engine> engine_;
  OperationLog log_;
  std::vector<MemberGroup> members_;
  Summary summary_;
  MessageDraws messages_;
  std::deque<WorkerLane> lanes_;
  LaneSet dirty_{0};  ///< lanes where something has changed that may let them run on
  std::size_t traced_lane_ = 0;
  std::vector<double> other_seconds_;  ///< of the item that is posted next
  std::unordered_map<OperationId, Posted> posted_;
  std::unordered_map<TransferId, MovingData> in_flight_;
  std::unordered_map<OperationId, std::vector<std::size_t>> waiters_;
  std::unordered_map<OperationId, OperationId> meeting_of_;  ///< of a mark
  std::unordered_map<OperationId, Meeting> meetings_;
  std::map<std::pair<std::size_t, std::size_t>, Messenger> messengers_;  ///< by from and to
  std::deque<Ended> ended_;  ///< from the first iteration on that was not summed up
  int summed_ = 0;
  /// What was counted when an iteration had ended.
  struct Counted {
    double time = 0;
    double moving = 0;
    Summary::Totals totals;
    Carried carried;
  };
  std::optional<Repeats> repeats_;
  std::deque<Counted> counted_;  ///< at the last ends, one more than a period has
  int counted_again_ = 0;        ///< iterations that were not run
  std::size_t lanes_running_ = 0;
};

}  // namespace gradwire
