#include "calibration/fit/hold_out.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "sim/core/statistics.hpp"

namespace gradwire {
namespace {

using Case = std::tuple<CollectiveKind, int, int>;

Case case_of(const FitSample& sample) {
  return {sample.op, sample.shape.ranks, sample.shape.machines};
}

/// The samples of each operation, rank count and machine count, by rising size.
std::map<Case, std::vector<FitSample>> cases_of(std::span<const FitSample> samples) {
  std::map<Case, std::vector<FitSample>> cases;
  for (const FitSample& sample : samples) cases[case_of(sample)].push_back(sample);
  for (auto& [key, rows] : cases) std::ranges::sort(rows, {}, &FitSample::size);
  return cases;
}

void append(std::vector<HeldOutRow>& all, std::vector<HeldOutRow> more) {
  std::ranges::move(more, std::back_inserter(all));
}

}  // namespace

ErrorSummary summarise(std::span<const HeldOutRow> rows, Bytes from) {
  std::vector<double> errors;
  for (const HeldOutRow& row : rows) {
    if (row.sample.size < from) continue;
    errors.push_back(std::abs(row.predicted / row.sample.time - 1));
  }
  if (errors.empty()) return {};
  const std::vector<double> once(errors.size(), 1);
  return {static_cast<int>(errors.size()), mean(errors), percentile(errors, once, 90),
          *std::ranges::max_element(errors)};
}

std::vector<HeldOutRow> predict(std::span<const FitSample> fitted,
                                std::span<const FitSample> scored, const FitOptions& options) {
  const std::vector<CollectiveFit> fits = fit_all(fitted, options);
  std::vector<HeldOutRow> rows;
  for (const FitSample& sample : scored) {
    const auto fit = std::ranges::find_if(fits, [&](const CollectiveFit& candidate) {
      return candidate.op == sample.op && candidate.hops == sample.shape.hops;
    });
    if (fit == fits.end()) continue;
    const std::string_view algorithm = priced_as(*fit, sample.shape.ranks, sample.algorithm);
    const FitSegment& segment = segment_for(*fit, sample.shape.ranks, sample.size, algorithm);
    const auto named = sample.shapes.find(segment.algorithm);
    const CollectiveShape& shape = named == sample.shapes.end() ? sample.shape : named->second;
    rows.push_back(
        {sample, std::max(fitted_time(*fit, shape, sample.size, algorithm), sample.late_messages)});
  }
  return rows;
}

std::vector<HeldOutRow> fold_over_sizes(std::span<const FitSample> samples, int folds,
                                        const FitOptions& options) {
  assert(folds >= 2);
  std::vector<HeldOutRow> all;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<FitSample> fitted;
    std::vector<FitSample> scored;
    for (const auto& [key, rows] : cases_of(samples)) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool inside = i > 0 && i + 1 < rows.size();
        const bool held =
            inside && i % static_cast<std::size_t>(folds) == static_cast<std::size_t>(fold);
        (held ? scored : fitted).push_back(rows[i]);
      }
    }
    append(all, predict(fitted, scored, options));
  }
  return all;
}

std::vector<HeldOutRow> fold_over_ranks(std::span<const FitSample> samples,
                                        const FitOptions& options) {
  std::set<int> counts;
  for (const FitSample& sample : samples) counts.insert(sample.shape.ranks);
  std::vector<HeldOutRow> all;
  for (const int count : counts) {
    std::vector<FitSample> fitted;
    std::vector<FitSample> scored;
    for (const FitSample& sample : samples) {
      (sample.shape.ranks == count ? scored : fitted).push_back(sample);
    }
    append(all, predict(fitted, scored, options));
  }
  return all;
}

std::vector<HeldOutRow> every_second_size(std::span<const MeasuredSeries> series) {
  std::vector<HeldOutRow> all;
  for (const MeasuredSeries& one : series) {
    std::vector<FitSample> fitted;
    std::vector<FitSample> scored;
    CollectiveShape lines;  // asks nothing of any link
    lines.ranks = one.ranks;
    lines.machines = one.machines;
    for (std::size_t i = 0; i < one.rows.size(); ++i) {
      const MeasuredRow& row = one.rows[i];
      (i % 2 == 0 ? fitted : scored).push_back({one.op, lines, row.size, row.time, "", ""});
    }
    append(all, predict(fitted, scored,
                        {.segments_max = static_cast<int>(fitted.size()), .prior_weight = 0}));
  }
  return all;
}

}  // namespace gradwire
