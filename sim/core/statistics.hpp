#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gradwire {

/// Samples with their counts, sorted once; percentiles as numpy's default ("linear") gives them for
/// the list in which each sample stands as often as its count says.
class PooledSamples {
 public:
  /// REQUIRES: as many counts as values, at least one; counts are whole numbers >= 1.
  PooledSamples(std::span<const double> values, std::span<const double> counts);

  /// @param percent  0..100
  [[nodiscard]] double percentile(double percent) const;
  /// How many samples there are, counts included.
  [[nodiscard]] std::int64_t size() const { return ends_.back(); }

 private:
  [[nodiscard]] double at(std::int64_t index) const;

  std::vector<double> values_;
  std::vector<std::int64_t> ends_;  ///< running sum of counts
};

/// One percentile of `values`, each standing `weights[i]` times; several: PooledSamples.
/// REQUIRES: as for PooledSamples. @param percent  0..100
[[nodiscard]] double percentile(std::span<const double> values, std::span<const double> weights,
                                double percent);
/// REQUIRES: at least one value, as for all below.
[[nodiscard]] double median(std::span<const double> values);
[[nodiscard]] double mean(std::span<const double> values);
/// Of the sample (n - 1 in the denominator); 0 for a single value.
[[nodiscard]] double stdev(std::span<const double> values);

}  // namespace gradwire
