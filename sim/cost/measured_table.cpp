#include "sim/cost/measured_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/core/joined_by.hpp"
#include "sim/cost/host_copies.hpp"

namespace gradwire {
namespace {

double bytes(const MeasuredRow& row) {
  return static_cast<double>(row.size.count());
}

[[maybe_unused]] bool rises(const std::vector<MeasuredRow>& rows) {
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

MeasuredTable::MeasuredTable(CollectiveTable table, std::shared_ptr<const Cluster> cluster,
                             std::shared_ptr<const CollectiveLibrary> fallback)
    : table_(std::move(table)), cluster_(std::move(cluster)), fallback_(std::move(fallback)) {
  assert(fallback_);
  assert(cluster_ || table_.fits.empty());
  assert(std::all_of(table_.series.begin(), table_.series.end(),
                     [](const MeasuredSeries& one) { return rises(one.rows); }));
  if (cluster_) copy_rate_ = slowest_host_copy(*cluster_);
}

std::vector<Pattern> MeasuredTable::plan(CollectiveKind kind, const Placement& ranks) const {
  return fallback_->plan(kind, ranks);
}

CollectiveShape MeasuredTable::shape_of_known(const Pattern& pattern) const {
  if (pattern.key == 0) return shape_of(pattern, *cluster_);
  const auto known = known_.find(pattern.key);
  if (known != known_.end()) return known->second;
  return known_.emplace(pattern.key, shape_of(pattern, *cluster_)).first->second;
}

void MeasuredTable::price_by_fit(std::span<const Pattern> patterns, Bytes size,
                                 CollectiveChoice& choice) const {
  if (table_.fits.empty()) return;
  const Pattern* pattern = &patterns[choice.pattern];
  const HopClass hops = shape_of_known(*pattern).hops;
  const auto fit = std::ranges::find_if(table_.fits, [&](const CollectiveFit& candidate) {
    return candidate.op == pattern->kind && candidate.hops == hops;
  });
  if (fit == table_.fits.end()) return;
  const std::string_view algorithm = priced_as(*fit, pattern->ranks, pattern->algorithm);
  const FitSegment& segment = segment_for(*fit, pattern->ranks, size, algorithm);
  const auto named = std::ranges::find(patterns, segment.algorithm, &Pattern::algorithm);
  if (named != patterns.end()) {
    choice.pattern = static_cast<std::size_t>(named - patterns.begin());
    pattern = &*named;
  }
  CollectiveCost cost;
  cost.uncontended = fitted_time(*fit, shape_of_known(*pattern), size, algorithm);
  if (pattern->algorithm == choice.cost.algorithm) {
    cost.uncontended = std::max(*cost.uncontended, choice.cost.late_messages);
  }
  cost.algorithm = pattern->algorithm;
  cost.protocol = segment.protocol;
  cost.source = "fit";
  cost.kernel = choice.cost.kernel;
  choice.cost = std::move(cost);
}

std::size_t MeasuredTable::one_that_can(std::span<const Pattern> patterns, Bytes size, Seconds time,
                                        std::size_t preferred) const {
  const auto can = [&](const Pattern& pattern) {
    return static_cast<double>(size.count()) * shape_of_known(pattern).per_byte <= time;
  };
  if (can(patterns[preferred])) return preferred;
  const auto other = std::ranges::find_if(patterns, can);
  return other == patterns.end() ? preferred : static_cast<std::size_t>(other - patterns.begin());
}

std::string MeasuredTable::told_missing(const Pattern& pattern) const {
  const auto measured = [](int ranks, int machines) {
    return fmt::format("{} ranks on {} machine{}", ranks, machines, machines == 1 ? "" : "s");
  };
  std::vector<std::string> others;
  for (const MeasuredSeries& series : table_.series) {
    if (series.op == pattern.kind) others.push_back(measured(series.ranks, series.machines));
  }
  if (others.empty() || pattern.ranks == 1) return "";
  return fmt::format("the model prices {} of {}: the table has it of {} only",
                     name_of(pattern.kind), measured(pattern.ranks, pattern.machines),
                     joined_by(others, ", "));
}

CollectiveChoice MeasuredTable::choose(std::span<const Pattern> patterns, Bytes size) const {
  CollectiveChoice choice = fallback_->choose(patterns, size);
  const Pattern& pattern = patterns[choice.pattern];
  const auto series = std::ranges::find_if(table_.series, [&](const MeasuredSeries& candidate) {
    return candidate.op == pattern.kind && candidate.ranks == pattern.ranks &&
           candidate.machines == pattern.machines;
  });
  if (series == table_.series.end()) {
    if (pattern.ranks > 1) price_by_fit(patterns, size, choice);
    if (choice.cost.source != "fit") choice.cost.missing = told_missing(pattern);
    return choice;
  }

  const std::vector<MeasuredRow>& rows = series->rows;
  const auto row = std::lower_bound(
      rows.begin(), rows.end(), size,
      [](const MeasuredRow& candidate, Bytes wanted) { return candidate.size < wanted; });
  const auto wanted = static_cast<double>(size.count());
  // The algorithm of the row above: NCCL switches at a size, and stays until the next.
  const MeasuredRow& nearest = row == rows.end() ? rows.back() : *row;
  CollectiveCost cost;
  if (row == rows.end()) {
    cost.uncontended = (wanted / bytes(rows.back())) * rows.back().time;
  } else if (row->size == size) {
    cost.uncontended = row->time;
  } else if (row == rows.begin()) {
    cost.uncontended = below_smallest(rows, wanted);
  } else {
    cost.uncontended = between(*std::prev(row), *row, wanted);
  }
  if (!on_gpu() && cluster_) {
    *cost.uncontended =
        *cost.uncontended + host_copies(pattern.kind, pattern.ranks, size, copy_rate_);
  }
  cost.algorithm = nearest.algorithm.empty() ? pattern.algorithm : nearest.algorithm;
  cost.protocol = nearest.protocol;
  cost.source = "table";
  cost.kernel = choice.cost.kernel;
  if (on_gpu() && nearest.channels > 0) cost.kernel.blocks = nearest.channels;
  const auto named = std::ranges::find(patterns, cost.algorithm, &Pattern::algorithm);
  if (named != patterns.end()) {
    choice.pattern = static_cast<std::size_t>(named - patterns.begin());
  }
  if (nearest.algorithm.empty() && cluster_) {
    choice.pattern = one_that_can(patterns, size, *cost.uncontended, choice.pattern);
    cost.algorithm = patterns[choice.pattern].algorithm;
  }
  choice.cost = std::move(cost);
  return choice;
}

}  // namespace gradwire
