#include "calibration/fit/profile_report.hpp"

#include <algorithm>
#include <string_view>

#include "sim/core/outgoing_text.hpp"

namespace gradwire::calibration {
namespace {

double us(Seconds time) {
  return 1e6 * time.count();
}
double ms(Seconds time) {
  return 1e3 * time.count();
}
constexpr double per_cent = 100;

std::string layer_table(const ComputeProfile& profile) {
  std::size_t width = std::string_view("layer").size();
  for (const LayerProfile& layer : profile.layers) width = std::max(width, layer.name.size());
  std::string text =
      plain_format("{:<{}}  {:<12}  {:>12}  {:>12}  {:>8}  {:>10}  {:>11}\n", "layer", width,
                   "kind", "forward us", "backward us", "stdev %", "ready ms", "parameters");
  for (const LayerProfile& layer : profile.layers) {
    const std::int64_t elements = elements_of(layer.parameters);
    Seconds ready;
    for (const ParameterSpec& parameter : layer.parameters) {
      ready = std::max(ready, parameter.ready.value_or(Seconds{}));
    }
    text += plain_format("{:<{}}  {:<12}  {:>12.1f}  {:>12.1f}  {:>8.2f}  {:>10}  {:>11}\n",
                         layer.name, width, layer.kind, us(layer.forward), us(layer.backward),
                         per_cent * layer.stdev,
                         ready > Seconds{} ? plain_format("{:.4f}", ms(ready)) : "-",
                         elements > 0 ? plain_format("{}", elements) : "-");
  }
  return text;
}

std::string percentiles_line(const char* what, const std::optional<Percentiles>& percentiles) {
  if (!percentiles) return "";
  return plain_format("{:<16}{:>4} times: p5 {:.3f}  p50 {:.3f}  p95 {:.3f}  max {:.3f} ms\n", what,
                      percentiles->count, ms(percentiles->p5), ms(percentiles->p50),
                      ms(percentiles->p95), ms(percentiles->max));
}

std::string checks_lines(const RecordingChecks& checks) {
  std::string text;
  const auto line = [&](const char* name, const std::optional<double>& value) {
    if (value) text += plain_format("{:<16}{:.4f}\n", name, *value);
  };
  line("closure_gpu", checks.closure_gpu);
  line("closure_span", checks.closure_span);
  line("other", checks.other);
  line("light_vs_full", checks.light_vs_full);
  line("full_vs_light", checks.full_vs_light);
  line("param_bytes", checks.param_bytes);
  text += plain_format("{:<16}{}\n{:<16}{}\n", "dropped", checks.dropped.value_or(0), "unlinked",
                       checks.unlinked.value_or(0));
  if (!checks.bound.empty()) text += plain_format("{:<16}{}\n", "bound by", checks.bound);
  return text;
}

}  // namespace

std::string profile_report(const ProfileFit& fit) {
  const ComputeProfile& profile = fit.recorded.profile;
  const RecordedExtras& extras = fit.recorded.recording;
  std::string text = layer_table(profile);
  text += plain_format(
      "\n{} layers, {} parameters in {} tensors\n"
      "iteration {:.3f} ms: forward {:.3f}, backward {:.3f}, optimizer {:.3f}, rest {:.3f}; GPU "
      "busy {:.3f} ms\n\n",
      profile.layers.size(), profile.parameter_count(), profile.tensor_count(),
      ms(profile.iteration), ms(profile.forward()), ms(profile.backward()), ms(profile.optimizer),
      ms(profile.unattributed()), ms(profile.gpu_busy));
  text += percentiles_line("uninstrumented", extras.uninstrumented);
  text += percentiles_line("period", extras.period);
  text += percentiles_line("GPU busy", extras.gpu_busy);
  if (extras.factor) {
    text += plain_format("{:<16}stdev {:.3f} %, lag-1 {:.2f}, p5 {:.2f} %, p95 {:.2f} %\n",
                         "factor", per_cent * extras.factor->stdev, extras.factor->lag1,
                         per_cent * extras.factor->p5, per_cent * extras.factor->p95);
  }
  text += "\n" + checks_lines(extras.checks);
  if (!fit.notes.empty()) text += "\n";
  for (const std::string& note : fit.notes) text += plain_format("note: {}\n", note);
  return text;
}

}  // namespace gradwire::calibration
