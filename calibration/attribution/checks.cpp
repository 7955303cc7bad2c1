#include "calibration/attribution/checks.hpp"

#include <fmt/format.h>

#include <optional>

namespace gradwire::calibration {
namespace {

constexpr double per_cent = 100;
constexpr double milliseconds = 1e3;

constexpr const char* other_work =
    "share of the busy time that belongs to no layer and not to the optimizer";

/// With the digits that tell the figure from its bound.
std::string too_much(const char* name, double value, double most, const char* what) {
  constexpr int digits_max = 9;
  int digits = 3;
  while (digits < digits_max &&
         fmt::format("{:.{}f}", value, digits) == fmt::format("{:.{}f}", most, digits)) {
    ++digits;
  }
  return fmt::format("{} is {:.{}f}; expected at most {:.3f}: {}", name, value, digits, most, what);
}

Seconds layers_of(const StepSummary& summary) {
  Seconds sum;
  for (const LayerSummary& layer : summary.layers) sum += layer.forward + layer.backward;
  return sum;
}

}  // namespace

RecordingChecks checks_of(const Attribution& attribution, const StepSummary& summary) {
  RecordingChecks checks;
  if (summary.busy > Seconds{}) {
    checks.closure_gpu = (layers_of(summary) + summary.optimizer + summary.other) / summary.busy;
    checks.other = summary.other / summary.busy;
  }
  if (summary.period > Seconds{}) {
    checks.closure_span = summary.busy_all / summary.period;
    checks.bound = host_bound(summary).empty() ? "gpu" : "host";
  }
  checks.dropped = static_cast<std::int64_t>(attribution.dropped);
  checks.unlinked = attribution.unlinked;
  return checks;
}

std::vector<std::string> failures(const RecordingChecks& checks, const StepSummary& summary,
                                  const CheckBounds& bounds) {
  std::vector<std::string> found;
  const auto between = [&](const char* name, const std::optional<double>& value, double least,
                           double most, const char* what) {
    if (value && !(*value >= least && *value <= most)) {
      found.push_back(fmt::format("{} is {:.3f}; expected {:.2f} to {:.2f}: {}", name, *value,
                                  least, most, what));
    }
  };
  const auto at_most = [&](const char* name, const std::optional<double>& value, double most,
                           const char* what) {
    if (value && !(*value <= most)) {
      found.push_back(too_much(name, *value, most, what));
    }
  };
  between("closure_gpu", checks.closure_gpu, bounds.closure_gpu_min, bounds.closure_gpu_max,
          "layers, optimizer and other work over the time the GPU was busy");
  at_most("other", checks.other, bounds.other_refused, other_work);
  at_most("light_vs_full", checks.light_vs_full, bounds.light_vs_full_max,
          "iteration under light recording over the iteration without");
  between("full_vs_light", checks.full_vs_light, bounds.full_vs_light_min, bounds.full_vs_light_max,
          "kernels under full recording over the same under light recording");
  between("param_bytes", checks.param_bytes, 1, 1,
          "elements of the gradients that became ready over those of the parameters");
  if (checks.dropped && *checks.dropped > 0) {
    found.push_back(
        fmt::format("dropped is {}; expected 0 records that the recorder lost", *checks.dropped));
  }
  if (summary.unlinked > bounds.unlinked_max * summary.busy) {
    found.push_back(fmt::format(
        "unlinked is {}: kernels without a known launch take {:.1f} % of the busy time; expected "
        "at most {:.1f} %",
        checks.unlinked.value_or(0), per_cent * (summary.unlinked / summary.busy),
        per_cent * bounds.unlinked_max));
  }
  return found;
}

std::vector<std::string> cautions(const RecordingChecks& checks, const CheckBounds& bounds) {
  if (!checks.other || *checks.other <= bounds.other_max || *checks.other > bounds.other_refused) {
    return {};
  }
  return {too_much("other", *checks.other, bounds.other_max, other_work)};
}

std::string host_bound(const StepSummary& summary, const CheckBounds& bounds) {
  if (summary.period == Seconds{} || summary.busy_all >= bounds.closure_span_min * summary.period) {
    return "";
  }
  std::string with;
  if (summary.communication > Seconds{}) {
    with = fmt::format(" ({:.0f} % with communication)",
                       per_cent * (summary.busy_all / summary.period));
  }
  return fmt::format(
      "host-bound: the GPU is busy {:.0f} %{} of the {:.0f} ms from one iteration to the next; "
      "expected at least {:.0f} %, or that time is the host's and not the GPU's",
      per_cent * ((summary.busy_all - summary.exposed) / summary.period), with,
      milliseconds * summary.period.count(), per_cent * bounds.closure_span_min);
}

}  // namespace gradwire::calibration
