#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/train/busy_time.hpp"
#include "sim/train/job.hpp"
#include "sim/train/launcher.hpp"
#include "sim/train/operation_log.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// What moves by itself: a collective ready at once, or messages.
struct MovingData {
  OperationId id = 0;
  PatternId pattern = 0;
  const CollectiveCost* cost = nullptr;  ///< the plans'
  Bytes size{0};
  std::vector<TensorId> tensors;
  std::string label;
  std::array<std::size_t, 2> ends{};  ///< the instances at whose ranks it begins and ends
  int stream = no_stream;             ///< of the first's: one after the other
  bool kernel = false;                ///< it is on the first's GPUs meanwhile
  double stretch = 1;                 ///< takes as long as so many times its bytes
  double start = 0;

  static constexpr int no_stream = 0;
};

/// An instance of the job's strategy: the ranks that it serves, and what of theirs is under way.
struct StrategyInstance {
  /// @param of  those ranks' job, as if they were alone: what the strategy was made for. Must
  ///            outlive this.
  StrategyInstance(const Job& of, const Program& program, std::unique_ptr<Strategy> made);
  /// Of a job of replicas.
  StrategyInstance(const Job& of, std::unique_ptr<Strategy> made);

  /// Lays only the exchanges that a rehearsal of a strategy made for this view uses.
  void lay_used(const JobView& view);
  /// A host thread takes on work of so many seconds, behind what it has. @return when it begins.
  double take_thread(int thread, double now, double seconds);

  const Job& job;
  std::unique_ptr<Strategy> strategy;
  Traits traits;
  /// What the launcher threads do, by worker class: the same steps with other times.
  std::vector<std::vector<LaunchStep>> scripts;
  int kept = 1;                ///< micro-batches whose activations a rank keeps at once
  std::size_t first_lane = 0;  ///< of its worker 0
  OwnIds ids;
  Activity activity;
  /// Which of its exchanges are laid, by index; empty: all.
  std::vector<bool> exchanges;
  std::vector<WorkerId> worker_of_exchange;  ///< of independent workers
  /// Collectives ready at once, by the strategy's number of their stream; below 0 a program's.
  std::unordered_map<int, std::deque<MovingData>> streams;
  std::vector<double> threads;  ///< by the strategy's number of a host thread: when it is free
};

}  // namespace gradwire
