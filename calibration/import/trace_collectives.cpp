#include "calibration/import/trace_collectives.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

/// nccl-tests counts what all ranks hold together (doc/PERFORMANCE.md).
Bytes table_size(const TracedCollective& collective, int ranks) {
  if (collective.kind == CollectiveKind::all_gather) {
    return Bytes{collective.bytes.count() * ranks};
  }
  return collective.bytes;
}

}  // namespace

ImportedTables tables_of(const std::vector<TracedCollective>& collectives, const std::string& file,
                         int ranks, int nodes) {
  std::map<std::pair<CollectiveKind, int>, std::map<Bytes, MeasuredRow>> shortest;
  std::size_t left_out = 0;
  std::size_t symmetric = 0;
  for (const TracedCollective& collective : collectives) {
    if (collective.algorithm == symmetric_memory) {
      ++symmetric;
      continue;
    }
    const int members = ranks > 0 ? ranks : collective.ranks;
    const Seconds time{1e-9 * static_cast<double>(collective.end - collective.start)};
    if (!collective.kind || collective.bytes <= Bytes{} || members < 2 || time <= Seconds{} ||
        collective.bytes.count() > std::numeric_limits<std::int64_t>::max() / members) {
      ++left_out;
      continue;
    }
    const Bytes size = table_size(collective, members);
    const MeasuredRow row{size, time, collective.algorithm, collective.protocol,
                          collective.channels};
    const auto [known, is_new] =
        shortest[std::pair(*collective.kind, members)].try_emplace(size, row);
    if (!is_new && row.time < known->second.time) known->second = row;
  }
  if (shortest.empty()) {
    throw ConfigError({file, 0, 0},
                      fmt::format("no collective with operation, size and ranks among {} kernels "
                                  "of NCCL; expected a trace of PyTorch 2.2 or later, whose NCCL "
                                  "kernels carry 'Collective name' and 'In msg nelems'",
                                  collectives.size()));
  }
  ImportedTables tables;
  for (const auto& [what, rows] : shortest) {
    MeasuredSeries series;
    series.op = what.first;
    series.ranks = what.second;
    series.machines = nodes;
    series.source = {"imported", file, "PyTorch profiler (Kineto)", "",
                     "times of NCCL's kernels in training: the shortest of each size"};
    for (const auto& [size, row] : rows) series.rows.push_back(row);
    tables.series.push_back(std::move(series));
  }
  if (symmetric > 0) {
    tables.notes.push_back(
        fmt::format("{} of {} kernels of NCCL are left out: they ran on symmetric memory, of which "
                    "there is no model",
                    symmetric, collectives.size()));
  }
  if (left_out > 0) {
    tables.notes.push_back(
        fmt::format("{} of {} kernels of NCCL are left out: no size, ranks, or known operation",
                    left_out, collectives.size()));
  }
  return tables;
}

}  // namespace gradwire::calibration
