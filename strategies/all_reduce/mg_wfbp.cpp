#include "strategies/all_reduce/mg_wfbp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "sim/core/joined_by.hpp"
#include "sim/core/refusal.hpp"

namespace gradwire {
namespace {

struct LineRow {
  int workers = 0;
  double alpha = 0;  ///< s
  double beta = 0;   ///< s/byte
};

/// The factors 3, 1.5 and 1.8 are the source's own ("hand tuning", it says no more); 2 and 4
/// workers are in one machine, over PCIe. 48 workers are DeAR's,
/// mgwfbp/hv_distributed_optimizer.py:44-61.
constexpr auto infiniband_rows = std::to_array<LineRow>({
    {2, 2.554691138304671e-06, 9.837548167872609e-11},
    {4, 4.204298980348825e-05, 2.0589360830118177e-10},
    {8, 9.75367204301171e-05, 3.0568230536676206e-10},
    {16, 3 * 2.3583677659915685e-04, 4.0594787739537565e-10},
    {32, 4.0632079996292579e-04, 1.5 * 3.2713239529771973e-10},
    {64, 8.0632079996292579e-04, 1.8 * 3.2713239529771973e-10},
});
constexpr auto eth_10g_rows = std::to_array<LineRow>({
    {2, 2.554691138304671e-06, 9.837548167872609e-11},
    {4, 4.204298980348825e-05, 2.0589360830118177e-10},
    {8, 5.230272768511732e-04, 8.570746975492128e-10},
    {16, 9.080981007148093e-04, 7.395651186836712e-10},
    {32, 3 * 1.3476410788581382e-03, 8.643300782166769e-10},
    {48, 3 * 1.8476410788581382e-03, 9.643300782166769e-10},
    {64, 3 * 2.3476410788581382e-03, 9.643300782166769e-10},
});

/// ddl-benchmarks takes InfiniBand's table with --rdma, which its scripts say for the 100 Gbit/s
/// network under RDMA and TCP alike (mgwfbp/horovod_mpi_cj.sh), else 10 GbE's.
constexpr BytesPerSecond slow_network{10e9 / 8};

/// Between two of the profiler's hooks: Python, a cuda.synchronize, the launch of the first kernel
/// that then finds an idle GPU. Assumed.
constexpr Seconds hook_sync_default{20e-6};

std::span<const LineRow> rows_of(CostSource source) {
  if (source == CostSource::infiniband) return infiniband_rows;
  return eth_10g_rows;
}

LinearCost cost_of(const MgWfbpOptions& options, const JobView& job) {
  if (options.cost) return *options.cost;
  if (options.source == CostSource::fit) {
    if (job.all_reduce_time && job.world_size > 1) return fit_cost(job.all_reduce_time);
    return {};
  }
  // One worker sends nothing, so its groups do not matter.
  if (job.world_size == 1) return {};
  CostSource source = options.source;
  if (source == CostSource::by_network) {
    source = job.network_bandwidth > slow_network ? CostSource::infiniband : CostSource::eth_10g;
  }
  const auto cost = tabled_cost(source, job.world_size);
  if (!cost) {
    std::vector<int> known;
    for (const auto& row : rows_of(source)) known.push_back(row.workers);
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("mg_wfbp: the table of alpha and beta has no row for {} workers; expected one "
                    "of {}, or alpha and beta, or table: fit",
                    job.world_size, joined_by(known, ", ")));
  }
  return *cost;
}

MgWfbpOptions read_options(Knobs& knobs, const MergeRule& rule) {
  static const std::vector<std::string> tables = {"fit", "by_network", "infiniband", "10gbe"};
  static const std::vector<std::string> merges = {"rule", "optimal"};
  MgWfbpOptions options;
  options.core = read_unfused_horovod(knobs);
  options.rule = rule;
  const std::string table =
      knobs.choice("table", "fit", tables,
                   "alpha and beta: fitted to this job's all-reduce (_benchmark_communication) or "
                   "ddl-benchmarks' tables by workers, hv_distributed_optimizer.py:226-241; "
                   "by_network: 10gbe up to 10 Gbit/s, else infiniband");
  if (table == "by_network") options.source = CostSource::by_network;
  if (table == "infiniband") options.source = CostSource::infiniband;
  if (table == "10gbe") options.source = CostSource::eth_10g;
  const LinearCost given{knobs.time("alpha", Seconds{0}, "start-up of an all-reduce; by 'table'"),
                         knobs.time("beta", Seconds{0}, "time of one byte; by 'table'")};
  for (const char* name : {"alpha", "beta"}) {
    if (!knobs.given(name)) continue;
    if (!knobs.given("alpha") || !knobs.given("beta")) {
      knobs.refuse(name, "one of 'alpha' and 'beta' is missing; expected both");
    }
    if (options.source != CostSource::fit) {
      knobs.refuse(name, fmt::format("'{}' and 'table' name two costs; expected one", name));
    }
    options.cost = given;
  }
  options.rule.small = knobs.count(
      "merge_below", rule.small, 0, std::int64_t{1} << 40U,
      "elements; smaller groups are merged in any case: hv_distributed_optimizer.py:315-318, 8192; "
      "MG-WFBP's own repository: 0");
  options.hook_sync =
      knobs.time("hook_sync", hook_sync_default,
                 "what each hook of the layer-wise profiler adds, which waits for the GPU "
                 "(profiling.py:98-129); assumed");
  options.optimal = knobs.choice("merge", "rule", merges,
                                 "the published rule, or the best grouping by search") == "optimal";
  return options;
}

StrategyMaker maker(const MgWfbpOptions& options) {
  return [options](const JobView& job) {
    return std::make_unique<MergedHorovod>(options.core, job, merged_groups(options, job));
  };
}

}  // namespace

std::optional<LinearCost> tabled_cost(CostSource source, int workers) {
  const auto rows = rows_of(source);
  const auto row = std::ranges::find(rows, workers, &LineRow::workers);
  if (row == rows.end()) return std::nullopt;
  return LinearCost{Seconds{row->alpha}, Seconds{row->beta}};
}

TensorGroups merged_groups(const MgWfbpOptions& options, const JobView& job) {
  const auto items = merge_items(job, options.hook_sync);
  if (items.empty()) return {};
  LinearCost cost = cost_of(options, job);
  // The rules count fp32 elements.
  cost.beta = static_cast<double>(job.element_size) / gradient_element_size * cost.beta;
  const Grouping grouping =
      options.optimal ? merge_optimally(items, cost) : merge_by_rule(items, cost, options.rule);
  TensorGroups groups;
  auto next = job.gradient_order.begin();
  for (const int size : grouping) {
    groups.emplace_back(next, next + size);
    next += size;
  }
  return groups;
}

StrategyMaker MgWfbp::read(Knobs& knobs) {
  return maker(read_options(knobs, {.wait_for_alpha = true}));
}

StrategyMaker AscWfbp::read(Knobs& knobs) {
  auto options = read_options(knobs, {.wait_for_alpha = false});
  constexpr std::int64_t streams_max = 16;
  options.core.num_nccl_streams = static_cast<int>(
      knobs.count("num_nccl_streams", 1, 1, streams_max,
                  "HOROVOD_NUM_NCCL_STREAMS; nstreams=1 in DeAR's horovod_mpi_cj.sh"));
  return maker(options);
}

}  // namespace gradwire
