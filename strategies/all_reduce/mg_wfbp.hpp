#pragma once

#include <cstdint>
#include <optional>

#include "strategies/all_reduce/merge_plan.hpp"
#include "strategies/horovod/merged_horovod.hpp"

namespace gradwire {

/// Where alpha and beta come from.
enum class CostSource : std::uint8_t {
  fit,         ///< JobView::all_reduce_time, as _benchmark_communication does
  infiniband,  ///< the table of ddl-benchmarks for 100 Gbit/s InfiniBand, by workers
  eth_10g,     ///< its table for 10 Gbit/s Ethernet
  by_network,  ///< that table where machines have at most 10 Gbit/s, else InfiniBand's
};

struct MgWfbpOptions {
  HorovodOptions core;
  CostSource source = CostSource::fit;
  std::optional<LinearCost> cost;  ///< given by the user
  MergeRule rule;
  Seconds hook_sync{};  ///< what a hook of the layer-wise profiler adds to a gradient's time
  /// The best grouping under the same cost model, in place of the rule: the minimum of
  /// finish_time(), which knows alpha + beta m and when gradients are ready, and no copies into
  /// buffers, negotiation or slowed kernels. Simulated with those, it can end later than the rule's
  /// grouping; by 3.6 % was seen.
  bool optimal = false;
};

/// The alpha and beta that ddl-benchmarks carries for this number of workers (4 a machine); nothing
/// when it has none. REQUIRES: one of the tables.
/// Source: ddl-benchmarks mgwfbp/hv_distributed_optimizer.py:226-241.
[[nodiscard]] std::optional<LinearCost> tabled_cost(CostSource source, int workers);

/// MG-WFBP: gradients are merged where waiting costs less than a start-up, from the times of the
/// profile's layers and t(m) = alpha + beta m; groups travel over Horovod (MergedHorovod).
/// Source: Shi et al., MG-WFBP, INFOCOM 2019; see merge_by_rule.
struct MgWfbp {
  static StrategyMaker read(Knobs& knobs);
};

/// ASC-WFBP: the same without the clause that waits for up to alpha: only what could not have
/// started is merged. `num_nccl_streams` all-reduces at once.
/// Source: Shi et al., ASC-WFBP, INFOCOM 2021; DeAR's mgwfbp (asc=1, nstreams=1).
struct AscWfbp {
  static StrategyMaker read(Knobs& knobs);
};

/// The groups, in gradient order.
/// @throws SimulationError when the table has no row for the job's workers.
[[nodiscard]] TensorGroups merged_groups(const MgWfbpOptions& options, const JobView& job);

}  // namespace gradwire
