#pragma once

#include <vector>

#include "sim/core/cluster.hpp"
#include "sim/core/result.hpp"
#include "sim/train/jitter.hpp"
#include "sim/train/job.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// An approximation for many asynchronous workers: n of N, evenly chosen, stand for all.
/// Beside parameter servers, whose traffic slows the workers of their machines, they are of every
/// machine; else whole machines, so that what their ports carry stays as it is.
///
/// What only a chosen worker uses stays as it is: its GPU, its own links, its connections. What
/// workers share is scaled to the fewer that use it: a link's capacity by the messages over it that
/// are left (what each worker sends to one kind of place is 1, evenly over those it may choose),
/// the strategy's shared host threads by JobView::stands_for. So a fully used link gives each
/// worker the share that it has among all. Staleness, updates by others, is scaled by (N - 1) / (n
/// - 1): nobody misses its own.
///
/// tests/train/worker_sampling_test.cpp holds it to the exact runs: 32 and 16 for 64 within 3 % of
/// throughput and of mean staleness, beyond what the runs' seeds differ. With few workers a full
/// link is idle at times, when all are elsewhere: 64 for 1024 whose variables lie unevenly on 128
/// servers are 3 to 5 % slow, 32 are 10 %.
class WorkerSampling {
 public:
  /// @param strategy  for the whole job.
  /// REQUIRES: 2 <= job.sampled_workers < ranks. `job` outlives this.
  WorkerSampling(const Job& job, const Strategy& strategy);
  WorkerSampling(const WorkerSampling&) = delete;
  WorkerSampling& operator=(const WorkerSampling&) = delete;

  /// The job of the chosen workers. Valid as long as this.
  [[nodiscard]] const Job& job() const { return job_; }
  /// What the strategy knows of it.
  [[nodiscard]] JobView view() const;
  /// Those of them that are chosen. REQUIRES: one a rank.
  [[nodiscard]] std::vector<MemberGroup> chosen(const std::vector<MemberGroup>& members) const;
  /// The result of the chosen ones' run, reported of all workers; its fidelity names the
  /// approximation.
  [[nodiscard]] RunResult of_all(RunResult result) const;

 private:
  [[nodiscard]] double ratio() const;  ///< N / n

  const Job& all_;
  std::vector<int> ranks_;  ///< the chosen ones, by their number among all
  Placement placement_;
  Cluster cluster_;
  std::vector<double> capacity_;  ///< of each link, share that is left
  Job job_;
};

}  // namespace gradwire
