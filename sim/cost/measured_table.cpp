#include "sim/cost/measured_table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <utility>

namespace gradwire {
namespace {

double bytes(const MeasuredRow& row) {
  return static_cast<double>(row.size.count());
}

bool rises(const std::vector<MeasuredRow>& rows) {
  return !rows.empty() && rows.front().size.count() > 0 &&
         std::all_of(rows.begin(), rows.end(),
                     [](const MeasuredRow& row) { return row.time.count() > 0; }) &&
         std::adjacent_find(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
           return a.size >= b.size;
         }) == rows.end();
}

Seconds below_smallest(const std::vector<MeasuredRow>& rows, double size) {
  const MeasuredRow& first = rows.front();
  const double through_origin = first.time.count() / bytes(first);
  double slope = through_origin;
  if (rows.size() > 1) {
    slope = (rows[1].time - first.time).count() / (bytes(rows[1]) - bytes(first));
    slope = std::clamp(slope, 0.0, through_origin);
  }
  return Seconds{first.time.count() - slope * (bytes(first) - size)};
}

Seconds between(const MeasuredRow& low, const MeasuredRow& high, double size) {
  const double exponent = std::log(high.time / low.time) / std::log(bytes(high) / bytes(low));
  return std::pow(size / bytes(low), exponent) * low.time;
}

}  // namespace

MeasuredTable::MeasuredTable(std::vector<MeasuredSeries> series,
                             std::shared_ptr<const CollectiveLibrary> fallback)
    : series_(std::move(series)), fallback_(std::move(fallback)) {
  assert(fallback_);
  assert(std::all_of(series_.begin(), series_.end(),
                     [](const MeasuredSeries& one) { return rises(one.rows); }));
}

std::vector<Pattern> MeasuredTable::plan(CollectiveKind kind, const Placement& ranks) const {
  return fallback_->plan(kind, ranks);
}

CollectiveChoice MeasuredTable::choose(std::span<const Pattern> patterns, Bytes size) const {
  CollectiveChoice choice = fallback_->choose(patterns, size);
  const Pattern& pattern = patterns[choice.pattern];
  const auto series =
      std::find_if(series_.begin(), series_.end(), [&](const MeasuredSeries& candidate) {
        return candidate.op == pattern.kind && candidate.ranks == pattern.ranks &&
               candidate.machines == pattern.machines;
      });
  if (series == series_.end()) return choice;

  const std::vector<MeasuredRow>& rows = series->rows;
  const auto row = std::lower_bound(
      rows.begin(), rows.end(), size,
      [](const MeasuredRow& candidate, Bytes wanted) { return candidate.size < wanted; });
  const auto wanted = static_cast<double>(size.count());
  // The algorithm of the row above: NCCL switches at a size, and stays until the next.
  const MeasuredRow& nearest = row == rows.end() ? rows.back() : *row;
  CollectiveCost cost;
  if (row == rows.end()) {
    cost.alone = (wanted / bytes(rows.back())) * rows.back().time;
  } else if (row->size == size) {
    cost.alone = row->time;
  } else if (row == rows.begin()) {
    cost.alone = below_smallest(rows, wanted);
  } else {
    cost.alone = between(*std::prev(row), *row, wanted);
  }
  cost.algorithm = nearest.algorithm.empty() ? pattern.algorithm : nearest.algorithm;
  cost.protocol = nearest.protocol;
  cost.source = "table";
  const auto named = std::ranges::find(patterns, cost.algorithm, &Pattern::algorithm);
  if (named != patterns.end()) {
    choice.pattern = static_cast<std::size_t>(named - patterns.begin());
  }
  choice.cost = std::move(cost);
  return choice;
}

}  // namespace gradwire
