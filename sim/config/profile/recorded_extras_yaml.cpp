#include "sim/config/profile/recorded_extras_yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>
#include <vector>

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
};
constexpr std::array<RatioKey, 6> ratio_keys = {{{"closure_gpu", &RecordingChecks::closure_gpu},
                                                 {"closure_span", &RecordingChecks::closure_span},
                                                 {"other", &RecordingChecks::other},
                                                 {"light_vs_full", &RecordingChecks::light_vs_full},
                                                 {"full_vs_light", &RecordingChecks::full_vs_light},
                                                 {"param_bytes", &RecordingChecks::param_bytes}}};

Percentiles read_percentiles(YamlMap map) {
  Percentiles percentiles;
  percentiles.count = map.require<std::int64_t>("count", at_least<std::int64_t>(1));
  for (const auto& [key, member] : percentile_keys) percentiles.*member = map.require<Seconds>(key);
  map.finish();
  return percentiles;
}

std::string percentiles_text(const Percentiles& percentiles) {
  std::string text = fmt::format("{{count: {}", percentiles.count);
  for (const auto& [key, member] : percentile_keys) {
    text += fmt::format(", {}: {}", key, microseconds_text(percentiles.*member));
  }
  return text + "}";
}

IterationFactor read_factor(YamlMap map) {
  IterationFactor factor;
  factor.stdev = map.require<Ratio>("stdev", at_least(Ratio{0})).value;
  factor.lag1 = map.require<double>("lag1", between(-1.0, 1.0));
  factor.p5 = map.require<Ratio>("p5", at_least(Ratio{0})).value;
  factor.p95 = map.require<Ratio>("p95", at_least(Ratio{0})).value;
  map.finish();
  return factor;
}

}  // namespace

void read_iteration_percentiles(YamlMap& iteration, RecordedExtras& recording) {
  auto map = iteration.optional_map("percentiles");
  if (!map) return;
  for (const auto& [key, member] : iteration_keys) {
    if (auto percentiles = map->optional_map(key)) {
      recording.*member = read_percentiles(std::move(*percentiles));
    }
  }
  if (auto factor = map->optional_map("factor")) recording.factor = read_factor(std::move(*factor));
  map->finish();
}

std::optional<LayerRecording> read_layer_percentiles(YamlMap& layer) {
  auto map = layer.optional_map("percentiles");
  if (!map) return std::nullopt;
  LayerRecording recording;
  recording.forward = read_percentiles(map->require_map("forward"));
  recording.backward = read_percentiles(map->require_map("backward"));
  map->finish();
  return recording;
}

RecordingChecks read_checks(YamlMap& profile) {
  static const std::vector<std::string> bounds = {"gpu", "host"};
  RecordingChecks checks;
  auto map = profile.optional_map("checks");
  if (!map) return checks;
  const auto none_or_more = at_least<std::int64_t>(0);
  checks.parameters = map->value_or<std::int64_t>("parameters", 0, none_or_more);
  checks.tensors = map->value_or<std::int64_t>("tensors", 0, none_or_more);
  for (const auto& [key, member] : ratio_keys) {
    checks.*member = map->optional<double>(key, at_least(0.0));
  }
  checks.dropped = map->optional<std::int64_t>("dropped", none_or_more);
  checks.unlinked = map->optional<std::int64_t>("unlinked", none_or_more);
  if (map->has("bound")) checks.bound = map->require_choice("bound", bounds);
  map->finish();
  return checks;
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
  return fmt::format("{{{}}}", fmt::join(parts, ",\n                "));
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
  for (const auto& [key, member] : ratio_keys) {
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
