#include "sim/config/profile/recorded_extras_yaml.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "sim/core/joined_by.hpp"

namespace gradwire::config {
namespace {

struct PercentileKey {
  const char* key;
  Seconds Percentiles::*member;
};
constexpr std::array<PercentileKey, 11> percentile_keys = {{{"mean", &Percentiles::mean},
                                                            {"stdev", &Percentiles::stdev},
                                                            {"min", &Percentiles::min},
                                                            {"p1", &Percentiles::p1},
                                                            {"p5", &Percentiles::p5},
                                                            {"p25", &Percentiles::p25},
                                                            {"p50", &Percentiles::p50},
                                                            {"p75", &Percentiles::p75},
                                                            {"p95", &Percentiles::p95},
                                                            {"p99", &Percentiles::p99},
                                                            {"max", &Percentiles::max}}};

struct PeriodKey {
  const char* key;
  std::optional<Percentiles> RecordedExtras::*member;
};
constexpr std::array<PeriodKey, 3> iteration_keys = {
    {{"uninstrumented", &RecordedExtras::uninstrumented},
     {"period", &RecordedExtras::period},
     {"gpu_busy", &RecordedExtras::gpu_busy}}};

struct RatioKey {
  const char* key;
  std::optional<double> RecordingChecks::*member;
  const char* doc;
};
constexpr std::array<RatioKey, 6> ratio_keys = {
    {{"closure_gpu", &RecordingChecks::closure_gpu, "the profile's kernels over the busy time"},
     {"closure_span", &RecordingChecks::closure_span, "the busy time over the period"},
     {"other", &RecordingChecks::other, "of the busy time, neither layers' nor the optimizer's"},
     {"light_vs_full", &RecordingChecks::light_vs_full, "iteration recorded lightly over not"},
     {"full_vs_light", &RecordingChecks::full_vs_light, "kernels recorded fully over lightly"},
     {"param_bytes", &RecordingChecks::param_bytes, "gradients' elements over parameters'"}}};

const Fields<Percentiles>& percentile_fields() {
  static const Fields<Percentiles> fields = [] {
    std::vector<Field<Percentiles>> all = {
        field("count", &Percentiles::count, "samples", at_least<std::int64_t>(1), required)};
    for (const auto& [key, member] : percentile_keys) {
      all.push_back(field(key, member, "of the samples", {}, required));
    }
    return Fields<Percentiles>("percentiles", "samples of a time, by nearest rank", all);
  }();
  return fields;
}

std::string percentiles_text(const Percentiles& percentiles) {
  std::string text = fmt::format("{{count: {}", percentiles.count);
  for (const auto& [key, member] : percentile_keys) {
    text += fmt::format(", {}: {}", key, microseconds_text(percentiles.*member));
  }
  return text + "}";
}

const Fields<IterationFactor>& factor_fields() {
  static const Fields<IterationFactor> fields = {
      "factor",
      "how times of whole iterations scatter about their median",
      {share("stdev", &IterationFactor::stdev, "of the samples", at_least(Ratio{0}), required),
       field("lag1", &IterationFactor::lag1, "autocorrelation of successive ones",
             between(-1.0, 1.0), required),
       share("p5", &IterationFactor::p5, "5th percentile", at_least(Ratio{0}), required),
       share("p95", &IterationFactor::p95, "95th percentile", at_least(Ratio{0}), required)}};
  return fields;
}

}  // namespace

const Fields<RecordedExtras>& iteration_percentile_fields() {
  static const Fields<RecordedExtras> fields = {
      "iteration_percentiles",
      "what iterations took",
      {inside("uninstrumented", &RecordedExtras::uninstrumented, percentile_fields,
              "where nothing recorded them"),
       inside("period", &RecordedExtras::period, percentile_fields,
              "from one's first kernel to the next's"),
       inside("gpu_busy", &RecordedExtras::gpu_busy, percentile_fields, "kernels"),
       inside("factor", &RecordedExtras::factor, factor_fields, "over the median")}};
  return fields;
}

const Fields<LayerRecording>& layer_percentile_fields() {
  static const Fields<LayerRecording> fields = {
      "layer_percentiles",
      "what a layer took",
      {inside("forward", &LayerRecording::forward, percentile_fields, "its times", required),
       inside("backward", &LayerRecording::backward, percentile_fields, "its times", required)}};
  return fields;
}

const Fields<RecordingChecks>& check_fields() {
  static const Fields<RecordingChecks> fields = [] {
    const auto none_or_more = at_least<std::int64_t>(0);
    std::vector<Field<RecordingChecks>> all = {
        field("parameters", &RecordingChecks::parameters, "elements", none_or_more),
        field("tensors", &RecordingChecks::tensors, "of parameters", none_or_more)};
    for (const auto& [key, member, doc] : ratio_keys) {
      all.push_back(field(key, member, doc, at_least(0.0)));
    }
    all.push_back(field("dropped", &RecordingChecks::dropped, "records lost", none_or_more));
    all.push_back(field("unlinked", &RecordingChecks::unlinked, "kernels whose launch is not known",
                        none_or_more));
    all.push_back(word("bound", &RecordingChecks::bound, {"gpu", "host"},
                       "what the iteration waited for", "not known"));
    return Fields<RecordingChecks>(
        "checks", "what was held against each other when the profile was made", all);
  }();
  return fields;
}

std::string iteration_percentiles_text(const RecordedExtras& recording) {
  std::vector<std::string> parts;
  for (const auto& [key, member] : iteration_keys) {
    const auto& percentiles = recording.*member;
    if (percentiles) parts.push_back(fmt::format("{}: {}", key, percentiles_text(*percentiles)));
  }
  if (const auto& factor = recording.factor) {
    parts.push_back(fmt::format("factor: {{stdev: {}, lag1: {:.4f}, p5: {}, p95: {}}}",
                                per_cent_text(factor->stdev), factor->lag1,
                                per_cent_text(factor->p5), per_cent_text(factor->p95)));
  }
  if (parts.empty()) return "";
  return fmt::format("{{{}}}", joined_by(parts, ",\n                "));
}

std::string layer_percentiles_text(const LayerRecording& recording) {
  return fmt::format("{{forward: {},\n                   backward: {}}}",
                     percentiles_text(recording.forward), percentiles_text(recording.backward));
}

std::string checks_text(const RecordingChecks& checks) {
  std::string text;
  const auto line = [&](const char* key, const auto& value) {
    text += fmt::format("  {}: {}\n", key, value);
  };
  if (checks.parameters > 0) line("parameters", checks.parameters);
  if (checks.tensors > 0) line("tensors", checks.tensors);
  for (const auto& [key, member, doc] : ratio_keys) {
    if (checks.*member) line(key, fmt::format("{:.4f}", *(checks.*member)));
  }
  if (checks.dropped) line("dropped", *checks.dropped);
  if (checks.unlinked) line("unlinked", *checks.unlinked);
  if (!checks.bound.empty()) line("bound", checks.bound);
  return text.empty() ? "" : "checks:\n" + text;
}

std::string microseconds_text(Seconds time) {
  constexpr double microseconds = 1e6;
  return fmt::format("{:.10g} us", microseconds * time.count());
}

std::string per_cent_text(double share) {
  constexpr double per_cent = 100;
  return fmt::format("{:.6g} %", per_cent * share);
}

}  // namespace gradwire::config
