#include "calibration/attribution/summary.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <span>

#include "sim/core/statistics.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t trimmed_from = 5;  // iterations, see StepSummary

Seconds seconds(Nanoseconds time) {
  return Seconds{1e-9 * static_cast<double>(time)};
}

/// The iterations that medians are over.
std::span<const IterationTimes> measured(const std::vector<IterationTimes>& all) {
  const std::span<const IterationTimes> iterations(all);
  return all.size() < trimmed_from ? iterations : iterations.subspan(1, all.size() - 2);
}

class Summary {
 public:
  explicit Summary(const Attribution& attribution)
      : all_(attribution.iterations), measured_(measured(all_)) {}

  StepSummary run(std::size_t layers) {
    result_.iterations = all_.size();
    result_.optimizer = median_of(&IterationTimes::optimizer);
    result_.other = median_of(&IterationTimes::other);
    result_.unlinked = median_of(&IterationTimes::unlinked);
    result_.wrapper = median_of(&IterationTimes::wrapper);
    result_.wrapper_stream = median_of(&IterationTimes::wrapper_stream);
    result_.communication = median_of(&IterationTimes::communication);
    result_.exposed = median_of(&IterationTimes::exposed);
    result_.busy_all = median_of(&IterationTimes::busy_all);
    result_.wrapper_records = measured_[measured_.size() / 2].wrapper_records;
    result_.recording.gpu_busy =
        percentiles([](const IterationTimes& times) { return times.busy; });
    result_.busy = result_.recording.gpu_busy->p50;
    find_period();
    find_factor();
    for (std::size_t layer = 0; layer < layers; ++layer) add_layer(layer);
    const auto fastest = std::ranges::min_element(all_, {}, &IterationTimes::host);
    result_.host_launch =
        0.5 * (seconds(fastest->forward_launch) + seconds(fastest->backward_launch));
    return std::move(result_);
  }

 private:
  using Value = std::function<Nanoseconds(const IterationTimes&)>;

  [[nodiscard]] Percentiles percentiles(const Value& value) const {
    std::vector<Seconds> samples;
    for (const IterationTimes& times : measured_) samples.push_back(seconds(value(times)));
    return percentiles_of(samples);
  }
  [[nodiscard]] Seconds median_of(Nanoseconds IterationTimes::*member) const {
    return percentiles([&](const IterationTimes& times) { return times.*member; }).p50;
  }

  void find_period() {
    std::vector<Seconds> periods;
    for (const IterationTimes& times : measured_) {
      if (times.period > 0) periods.push_back(seconds(times.period));
    }
    if (periods.empty()) {
      result_.period =
          percentiles([](const IterationTimes& times) { return times.end - times.start; }).p50;
      return;
    }
    result_.recording.period = percentiles_of(periods);
    result_.period = result_.recording.period->p50;
  }

  void find_factor() {
    std::vector<double> sums;
    for (const IterationTimes& times : all_) sums.push_back(static_cast<double>(times.layers()));
    if (std::ranges::any_of(sums, [](double sum) { return !(sum > 0); })) sums.assign(1, 1);
    const double middle = median(sums);
    factors_.assign(all_.size(), 1);
    if (sums.size() < all_.size() || sums.size() < 2) return;
    std::ranges::transform(sums, factors_.begin(), [&](double sum) { return sum / middle; });
    result_.recording.factor = iteration_factor(sums);
  }

  void add_layer(std::size_t layer) {
    LayerSummary summary;
    summary.recording.forward =
        percentiles([&](const IterationTimes& times) { return times.forward[layer]; });
    summary.recording.backward =
        percentiles([&](const IterationTimes& times) { return times.backward[layer]; });
    summary.forward = summary.recording.forward.p50;
    summary.backward = summary.recording.backward.p50;
    const Seconds ready =
        percentiles([&](const IterationTimes& times) { return times.ready[layer]; }).p50;
    if (ready > Seconds{}) summary.ready = ready;
    std::vector<double> residuals;
    residuals.reserve(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto time = static_cast<double>(all_[i].forward[layer] + all_[i].backward[layer]);
      residuals.push_back(time / factors_[i]);
    }
    const double centre = mean(residuals);
    if (centre > 0) summary.stdev = stdev(residuals) / centre;
    result_.recording.layers.push_back(summary.recording);
    result_.layers.push_back(summary);
  }

  const std::vector<IterationTimes>& all_;
  std::span<const IterationTimes> measured_;
  std::vector<double> factors_;  ///< of all iterations
  StepSummary result_;
};

}  // namespace

IterationFactor iteration_factor(const std::vector<double>& times) {
  const double middle = median(times);
  assert(middle > 0);
  std::vector<double> factors;
  factors.reserve(times.size());
  for (const double time : times) factors.push_back(time / middle);
  IterationFactor factor;
  factor.stdev = stdev(factors);
  const double centre = mean(factors);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    squares += (factors[i] - centre) * (factors[i] - centre);
    if (i > 0) products += (factors[i] - centre) * (factors[i - 1] - centre);
  }
  if (squares > 0) factor.lag1 = products / squares;
  std::vector<Seconds> samples;
  samples.reserve(factors.size());
  for (const double each : factors) samples.emplace_back(each);  // nearest rank needs no unit
  const Percentiles ranked = percentiles_of(samples);
  factor.p5 = ranked.p5.count();
  factor.p95 = ranked.p95.count();
  return factor;
}

StepSummary summarise(const Attribution& attribution) {
  assert(!attribution.iterations.empty());
  return Summary(attribution).run(attribution.layers.size());
}

}  // namespace gradwire::calibration
