#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/core/placement.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/cost/collective_shape.hpp"
#include "sim/cost/fitted_collective.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire {

/// A measured row with what its collective asks of the cluster.
struct FitSample {
  CollectiveKind op = CollectiveKind::all_reduce;
  CollectiveShape shape;  ///< of the algorithm that ran
  Bytes size{0};
  Seconds time;
  std::string algorithm;  ///< named by the table, else what the library takes for this size
  std::string protocol;   ///< "" when the table does not name it
  /// By algorithm, of all that the library may take: a fit prices its segment's own.
  std::map<std::string, CollectiveShape> shapes{};
  Seconds late_messages{};  ///< as the library prices them (CollectiveCost); a fit gives no less
};

/// The rows of a series on the first machines of a cluster, the first GPUs of each. Where a row
/// does not name its algorithm, it is the one that `library` takes.
/// @throws SimulationError when the series' ranks do not fit the cluster (more machines or GPUs
///         than it has, or not equally many on each machine), or its algorithm cannot run there.
[[nodiscard]] std::vector<FitSample> samples_of(const MeasuredSeries& series,
                                                const Cluster& cluster,
                                                const CollectiveLibrary& library);

/// What fit_samples takes for granted.
struct FitOptions {
  int segments_max = 3;  ///< protocols are three: LL, LL128, Simple
  /// Weight of a latency of NCCL's own beside a measured row, the error of the row / that of the
  /// latency. Row: two public runs on 8 A100, superbenchmark's and vTrain's, are 10 % apart (root
  /// mean square from 1 MiB to 1 GiB). Latency: 50 %, assumed; NCCL's releases differ by as much.
  double prior_weight = 0.1 / 0.5;
};

/// Fits the samples of one operation and class of hops: regimes of size / ranks, found by dynamic
/// programming over the cuts, as few as the Bayesian information criterion wants; rows that name
/// their protocol are fitted apart from those of other protocols. In each regime least squares of
/// the relative errors, no term below 0. What the rows do not tell (with one rank count, launch and
/// hops apart) goes to NCCL's own latencies, which count as prior knowledge.
/// REQUIRES: at least one sample; all of one operation and class of hops.
[[nodiscard]] CollectiveFit fit_samples(std::span<const FitSample> samples,
                                        const FitOptions& options = {});

/// One fit for each operation and class of hops among the samples, in their order.
[[nodiscard]] std::vector<CollectiveFit> fit_all(std::span<const FitSample> samples,
                                                 const FitOptions& options = {});

}  // namespace gradwire
