// Of independent workers: rates, and whether they are steady.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "sim/train/summary.hpp"
#include "sim/train/worker_rates.hpp"

namespace gradwire {
namespace {

/// Asynchronous workers are reported not to be steady above this change of their mean
/// iteration, relative, from one half of those measured to the other; and, where they cannot get
/// far apart, above this difference of their rates. Assumed: what ten iterations of 64 workers on a
/// saturated network differ from seed to seed.
constexpr double drift_max = 0.05;
/// Where a bound on how far workers are apart lets one gain more over the measured iterations,
/// these are too few.
constexpr double gain_max = 0.25;

}  // namespace

void Summary::add_rates() {
  rates_ = worker_rates(result_.worker_iteration_s, job_.run);
  result_.iteration_s = mean_iterations(result_.worker_iteration_s, job_.run);
  const double rate = std::accumulate(rates_.begin(), rates_.end(), 0.0);
  for (std::size_t worker = 0; worker < rates_.size(); ++worker) {
    const double weight = rates_[worker] / rate;
    for (std::size_t p = 0; p < result_.breakdown.size(); ++p) {
      result_.breakdown[p] += weight * of_worker_[worker][p];
    }
  }
  warn_of_drift();
}

void Summary::warn_of_drift() {
  const auto [slowest, fastest] = std::ranges::minmax(rates_);
  // Over the measured iterations one may gain what the bound lets it, unless these are too few to
  // tell that from a rate of its own.
  const double gain = lead_ ? static_cast<double>(*lead_) / job_.run.iterations : 0;
  const double apart = drift_max + (gain < gain_max ? gain : 0);
  if (lead_ && fastest > (1 + apart) * slowest) {
    result_.warnings.push_back(
        {"not-steady",
         fmt::format(
             "workers that may be only so far apart iterate equally often in the end; here the "
             "fastest still iterates {:.0f} % more often than the slowest: more run.warmup "
             "lets it come to its bound",
             100 * (fastest / slowest - 1))});
    return;
  }
  const auto& times = result_.iteration_s;
  if (times.size() < 2) return;
  const auto half = static_cast<std::ptrdiff_t>(times.size() / 2);
  const auto mean = [](auto first, auto last) {
    return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
  };
  const double change =
      mean(times.end() - half, times.end()) / mean(times.begin(), times.begin() + half) - 1;
  if (std::abs(change) <= drift_max) return;
  result_.warnings.push_back(
      {"not-steady",
       fmt::format("the later half of the measured iterations takes {:.0f} % {} than the earlier; "
                   "asynchronous workers need more run.warmup and run.iterations",
                   100 * std::abs(change), change > 0 ? "longer" : "less")});
}

double Summary::iterations_until(double end) const {
  double iterations = 0;
  for (std::size_t worker = 0; worker < rates_.size(); ++worker) {
    iterations += rates_[worker] * (end - std::max(counted_from_, members_[worker].start));
  }
  return iterations;
}

}  // namespace gradwire
