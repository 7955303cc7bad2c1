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
                             std::shared_ptr<const CostModel> fallback)
    : series_(std::move(series)), fallback_(std::move(fallback)) {
  assert(fallback_);
  assert(std::all_of(series_.begin(), series_.end(),
                     [](const MeasuredSeries& one) { return rises(one.rows); }));
}

CollectiveCost MeasuredTable::price(const Pattern& pattern, Bytes size) const {
  const auto series =
      std::find_if(series_.begin(), series_.end(), [&](const MeasuredSeries& candidate) {
        return candidate.op == pattern.kind && candidate.ranks == pattern.ranks &&
               candidate.machines == pattern.machines;
      });
  if (series == series_.end()) return fallback_->price(pattern, size);

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
  return cost;
}

}  // namespace gradwire
