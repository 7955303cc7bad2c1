#include "sim/config/profile/profile_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/analytic_key.hpp"
#include "sim/config/profile/length_bins.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/models/mean_profile.hpp"

namespace gradwire::config {
namespace {

constexpr int micro_batches_max = 100'000;

/// Kinds of work that collectives slow down.
std::vector<std::string> overlap_kinds() {
  std::vector<std::string> kinds = layer_kinds();
  for (const char* work : {"copy", "encode", "optimizer"}) kinds.emplace_back(work);
  return kinds;
}

/// `overlap: 1.2` for device work of every kind, or {conv3: 1.1, ...} for some.
void override_overlap(YamlMap& map, ComputeProfile& profile) {
  const YamlValue* value = map.find("overlap");
  if (value == nullptr) return;
  if (value->kind != YamlValue::Kind::map) {
    const auto factor = map.require<double>("overlap", at_least(1.0));
    for (const auto& kind : overlap_kinds()) profile.overlap[kind] = factor;
    return;
  }
  read_overlap(YamlMap(*value, "overlap"), overlap_kinds(), profile.overlap);
}

const Fields<ComputeProfile>& module_fields() {
  static const Fields<ComputeProfile> fields = {
      "module",
      "",
      {{{"buffers", "the model's",
         "bytes of the module's buffers (register_buffer: statistics of norms, masks of "
         "attention), which DDP broadcasts before a forward pass",
         value_info(at_least(Bytes{0}))},
        [](YamlMap& map, ComputeProfile& profile) {
          if (!map.has("buffers")) return;
          profile.buffer_bytes = map.require<Bytes>("buffers", at_least(Bytes{0}));
          profile.buffers = profile.buffer_bytes > Bytes{} ? 1 : 0;
          profile.buffer_elements = profile.buffer_bytes.count();
        }}}};
  return fields;
}

/// A published time corrects the sum that was counted; what stays is the error of its parts.
ComputeProfile scaled_profile(ComputeProfile profile, Seconds iteration) {
  profile = scaled_to(std::move(profile), iteration);
  if (profile.source.kind == "analytic") {
    profile.source.kind = "analytic-scaled";
    profile.model_error = {};
  }
  return profile;
}

/// Of an iteration of one micro-batch, where the known one accumulates several before the
/// optimizer.
Seconds of_one_micro_batch(const ComputeProfile& profile, Seconds known, int micro_batches) {
  const double optimizer = profile.optimizer / profile.iteration;
  return Seconds{known.count() / (micro_batches * (1 - optimizer) + optimizer)};
}

/// Units are mistaken by more than a framework's share.
void warn_of_time(const ComputeProfile& profile, Seconds told, std::vector<Warning>& warnings) {
  constexpr double usual = 5;
  const double ratio = told / profile.iteration;
  if (ratio >= 1 / usual && ratio <= usual) return;
  warnings.push_back(
      {"iteration-time",
       fmt::format("'iteration_time' is {:.3g} times the {:.3g} ms that {} with a batch of {} is "
                   "known or counted to take on {}: is its unit right?",
                   ratio, 1e3 * profile.iteration.count(), profile.model, profile.batch_per_gpu,
                   profile.gpu)});
}

constexpr const char* iteration_strategy = "iteration_strategy";

/// What somebody knows of an iteration on one GPU.
struct KnownTime {
  std::optional<Seconds> time;
  int micro_batches = 1;
  bool under_strategy = false;
};

const Fields<KnownTime>& time_fields() {
  static const Fields<KnownTime> fields = {
      "time",
      "",
      {field("iteration_time", &KnownTime::time,
             "time of an iteration on one GPU that you know: all times are scaled to it",
             above(Seconds{0}), "none; required with a file that has only ratios"),
       field("iteration_micro_batches", &KnownTime::micro_batches,
             "micro-batches that this time has; only beside it", between(1, micro_batches_max))}};
  return fields;
}

/// The profile of one mapping, before a known time scales it. @param known  gets that time.
ComputeProfile read_mapping(const YamlValue& value, KnownTime& known,
                            std::vector<Warning>& warnings) {
  YamlMap map(value, "profile");
  ComputeProfile profile =
      map.has("file") ? read_file_profile(map, warnings) : read_model_profile(map, warnings);
  time_fields().read(map, known);
  known.under_strategy = map.find(iteration_strategy) != nullptr;  // read with the strategies
  for (const char* key : {"iteration_micro_batches", iteration_strategy}) {
    if (known.time || !map.has(key)) continue;
    map.fail(key, fmt::format("'{}' without 'iteration_time'; expected both", key));
  }
  override_overlap(map, profile);
  module_fields().read(map, profile);
  map.finish();
  return profile;
}

ComputeProfile read_profile_mapping(const YamlValue& value, KnownTime& known,
                                    std::vector<Warning>& warnings) {
  std::vector<WeightedProfile> bins;
  std::vector<Warning> of_bin;  // each says the same
  for (const LengthBin& bin : length_bins(value)) {
    of_bin.clear();
    bins.push_back({read_mapping(bin.profile, known, of_bin), bin.share});
  }
  std::ranges::move(of_bin, std::back_inserter(warnings));
  ComputeProfile profile = mean_profile(bins);
  if (!known.time) return profile;
  const Seconds one = of_one_micro_batch(profile, *known.time, known.micro_batches);
  if (!profile.is_shape()) warn_of_time(profile, one, warnings);
  return scaled_profile(std::move(profile), one);
}

}  // namespace

Section profile_section() {
  Section section{"profile", "what one GPU does in an iteration", profile_keys()};
  for (const auto& more : {time_fields().keys(), module_fields().keys()}) {
    section.keys.insert(section.keys.end(), more.begin(), more.end());
  }
  section.keys.push_back({iteration_strategy, "none",
                          "strategy under which `iteration_time` was measured, on one GPU: what "
                          "it costs there is taken off; only beside it",
                          mapping_of(strategy_section)});
  section.keys.push_back({"overlap", "counted from the GPU",
                          "times as long as device work takes beside a collective: for all, or by "
                          "kind",
                          either(value_info(at_least(1.0)), mapping_of([] {
                                   return overlap_section("overlap", overlap_kinds());
                                 }))});
  return section;
}

void read_profile_key(YamlMap& scenario, Scenario& result) {
  const YamlValue& value =
      scenario.require_value("profile", "a name that 'gradwire list profiles' shows");
  if (value.kind != YamlValue::Kind::map) {
    result.profile = read_once<read_profile>(find_data(DataKind::profile, value, "profile"));
    if (result.profile->is_shape()) {
      throw ConfigError(value.where,
                        fmt::format("'{0}' gives only ratios of times; expected {{file: {0}, gpu: "
                                    "..., batch_per_gpu: ..., dtype: ..., iteration_time: ...}}",
                                    value.text));
    }
  } else {
    KnownTime known;
    result.profile = read_profile_mapping(value, known, result.warnings);
    if (known.under_strategy) result.timed_under = {*known.time, known.micro_batches, {}};
  }
  if (result.profile->tensor_count() == 0) {
    result.warnings.push_back(
        {"no-tensors", fmt::format("the profile of {} has no parameters: nothing is exchanged",
                                   result.profile->model)});
  }
  result.gpu = shipped_gpu(result.profile->gpu, value.where);
  if (auto gpu = scenario.optional_map("gpu")) {
    gpu_override_fields().read_all(std::move(*gpu), result.gpu);
  }
}

}  // namespace gradwire::config
