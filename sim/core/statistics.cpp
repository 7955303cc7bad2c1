#include "sim/core/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace gradwire {

PooledSamples::PooledSamples(std::span<const double> values, std::span<const double> counts) {
  assert(!values.empty() && values.size() == counts.size());
  std::vector<std::pair<double, double>> samples;  // sorted as they are, not by their number
  samples.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) samples.emplace_back(values[i], counts[i]);
  std::ranges::sort(samples, {}, &std::pair<double, double>::first);
  values_.reserve(samples.size());
  ends_.reserve(samples.size());
  std::int64_t total = 0;
  for (const auto& [value, count] : samples) {
    assert(count >= 1 && count == std::floor(count));
    values_.push_back(value);
    ends_.push_back(total += std::llround(count));
  }
}

double PooledSamples::at(std::int64_t index) const {
  const auto place = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  return values_[static_cast<std::size_t>(place)];
}

double PooledSamples::percentile(double percent) const {
  assert(percent >= 0 && percent <= 100);
  const double place = static_cast<double>(size() - 1) * percent / 100;
  const double below = std::floor(place);
  const auto index = static_cast<std::int64_t>(below);
  const double a = at(index);
  const double b = at(std::min(index + 1, size() - 1));
  const double t = place - below;
  // numpy interpolates from the nearer end, which decides the last bit.
  return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

double percentile(std::span<const double> values, std::span<const double> weights, double percent) {
  return PooledSamples(values, weights).percentile(percent);
}

double median(std::span<const double> values) {
  return percentile(values, std::vector<double>(values.size(), 1), 50);
}

double mean(std::span<const double> values) {
  assert(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double stdev(std::span<const double> values) {
  if (values.size() == 1) return 0;
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace gradwire
