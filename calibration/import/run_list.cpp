#include "calibration/import/run_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace gradwire {
namespace {

/// The measurement in the middle; of an even number the mean of the two.
MeasuredRow median_of(std::vector<MeasuredRow> rows) {
  std::ranges::sort(rows, {}, &MeasuredRow::time);
  MeasuredRow middle = rows[rows.size() / 2];
  if (rows.size() % 2 == 0) middle.time = 0.5 * (middle.time + rows[rows.size() / 2 - 1].time);
  return middle;
}

}  // namespace

void RunList::begin(const Table& table) {
  const auto fail = [&](const std::string& what) { throw ConfigError(table.where, what); };
  MeasuredSeries series;
  const std::optional<CollectiveKind> op = options_.op ? options_.op : table.op;
  if (!op) {
    fail(
        "the file does not name the program that wrote this table; expected a line with, for "
        "example, all_reduce_perf, or --op");
  }
  series.op = op.value_or(CollectiveKind::all_reduce);
  series.ranks = options_.ranks > 0 ? options_.ranks : table.ranks;
  series.machines = options_.nodes > 0 ? options_.nodes : table.nodes;
  if (series.ranks == 0 || series.machines == 0) {
    fail(
        "the file does not list its devices; expected lines '# Rank 0 ... on HOST device 0', or "
        "--ranks and --nodes");
  }
  if (series.ranks < 2 || series.machines > series.ranks) {
    fail(
        fmt::format("the table is of {} ranks on {} nodes; expected at least 2 ranks, and one on "
                    "each node",
                    series.ranks, series.machines));
  }
  series.in_place = options_.in_place;
  series.version = table.version;
  series.source = {
      "imported", std::filesystem::path(file_).filename().string(), "nccl-tests", {}, {}};
  const auto known = std::ranges::find_if(runs_, [&](const Rows& other) {
    return other.series.op == series.op && other.series.ranks == series.ranks &&
           other.series.machines == series.machines;
  });
  current_ = static_cast<std::size_t>(known - runs_.begin());
  if (known == runs_.end()) runs_.push_back({std::move(series), 0, {}});
  ++runs_[current_].tables;
}

void RunList::add(const MeasuredRow& row) {
  if (row.size.count() == 0) {
    ++empty_;
    return;
  }
  runs_.at(current_).by_size[row.size].push_back(row);
}

ImportedTables RunList::finish() const {
  ImportedTables result;
  for (const Rows& run : runs_) {
    if (run.by_size.empty()) continue;
    MeasuredSeries series = run.series;
    bool repeated = false;
    for (const auto& [size, rows] : run.by_size) {
      series.rows.push_back(median_of(rows));
      repeated = repeated || rows.size() > 1;
    }
    if (repeated) {
      series.source.notes =
          fmt::format("{} tables; of sizes measured several times the median", run.tables);
      result.notes.push_back(
          fmt::format("{} on {} ranks: {}", name_of(series.op), series.ranks, series.source.notes));
    }
    result.series.push_back(std::move(series));
  }
  if (result.series.empty()) {
    throw ConfigError({file_, 1, 1},
                      "no row of a table of nccl-tests; expected a line such as '1048576 262144 "
                      "float sum -1 74.8 14.0 24.5 0 ...' below a header with 'size' and 'time'");
  }
  if (empty_ > 0) result.notes.push_back(fmt::format("{} rows of 0 bytes left out", empty_));
  if (wrong_ > 0) {
    result.notes.push_back(
        fmt::format("{} rows whose results nccl-tests found wrong are taken all the same", wrong_));
  }
  return result;
}

ImportedTables merge_files(std::vector<ImportedTables> files) {
  struct Merged {
    MeasuredSeries series;
    int files = 0;
    std::map<Bytes, std::vector<MeasuredRow>> by_size;
  };
  std::vector<Merged> merged;
  ImportedTables result;
  for (ImportedTables& file : files) {
    std::ranges::move(file.notes, std::back_inserter(result.notes));
    for (MeasuredSeries& series : file.series) {
      auto known = std::ranges::find_if(merged, [&](const Merged& other) {
        return other.series.op == series.op && other.series.ranks == series.ranks &&
               other.series.machines == series.machines;
      });
      for (const MeasuredRow& row : series.rows) {
        if (known == merged.end()) known = merged.insert(merged.end(), {series, 0, {}});
        known->by_size[row.size].push_back(row);
      }
      if (++known->files > 1) known->series.source.file += ", " + series.source.file;
    }
  }
  for (Merged& one : merged) {
    one.series.rows.clear();
    for (const auto& [size, rows] : one.by_size) one.series.rows.push_back(median_of(rows));
    if (one.files > 1) {
      one.series.source.notes = fmt::format("median of {} files", one.files);
      result.notes.push_back(fmt::format("{} on {} ranks: {}", name_of(one.series.op),
                                         one.series.ranks, one.series.source.notes));
    }
    result.series.push_back(std::move(one.series));
  }
  return result;
}

std::string nccl_version_text(long long code) {
  // From 2.9 on two digits each for minor and patch, before one.
  constexpr long long first_with_five_digits = 10'000;
  const bool wide = code >= first_with_five_digits;
  const long long major = code / (wide ? 10'000 : 1'000);
  const long long minor = code / 100 % (wide ? 100 : 10);
  return fmt::format("{}.{}.{}", major, minor, code % 100);
}

}  // namespace gradwire
