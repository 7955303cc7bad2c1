#include "sim/config/profile/profile_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "sim/config/profile/recorded_extras_yaml.hpp"

namespace gradwire::config {
namespace {

/// Sums of times that were rounded when they were written may exceed their total by this share.
constexpr double rounding_share = 1e-3;
/// Of a tensor, or of all buffers: keeps sums within 64 bits; no model comes near.
constexpr std::int64_t elements_max = 1'000'000'000'000'000;
/// An element takes from a byte (bool) to 16 (complex128).
constexpr std::int64_t element_size_max = 16;

const Fields<ProfileSource>& source_fields() {
  static const Fields<ProfileSource> fields = {
      "profile_source",
      "where a profile comes from; every result repeats it",
      {word("kind", &ProfileSource::kind,
            {"recorded", "imported", "derived", "analytic-scaled", "analytic"}, "how it was made",
            required),
       field("tool", &ProfileSource::tool, "that made it"),
       field("file", &ProfileSource::file, "what it was made of"),
       field("date", &ProfileSource::date, "of the measurement"),
       field("notes", &ProfileSource::notes, "of whoever made it")}};
  return fields;
}

std::vector<Field<ParameterSpec>> name_and_shape() {
  const auto shape = field("shape", &ParameterSpec::shape, "sides, 1e15 elements at most",
                           at_least<std::int64_t>(1), required);
  const auto read_shape = [shape](YamlMap& map, ParameterSpec& parameter) {
    shape.read(map, parameter);
    double elements = 1;
    for (const std::int64_t side : parameter.shape) elements *= static_cast<double>(side);
    constexpr auto most = static_cast<double>(elements_max);
    if (elements > most) {
      map.fail("shape", fmt::format("tensor '{}' has {:.3g} elements; expected at most {:.3g}",
                                    parameter.name, elements, most));
    }
  };
  return {field("name", &ParameterSpec::name, "once in the profile", {}, required),
          {shape.info, read_shape}};
}

const Fields<ParameterSpec>& parameter_fields() {
  static const Fields<ParameterSpec> fields = [] {
    auto all = name_and_shape();
    all.push_back(field("ready", &ParameterSpec::ready,
                        "when its gradient was, since backward began; shown and checked, not "
                        "replayed"));
    all.push_back(field("shared", &ParameterSpec::shared, "a later layer's weight, too"));
    return Fields<ParameterSpec>("parameters", "tensors of a recorded layer", all);
  }();
  return fields;
}

/// A layer, and the percentiles of its times.
struct RecordedLayer {
  LayerProfile layer;
  std::optional<LayerRecording> recording;
};

const Fields<RecordedLayer>& layer_fields() {
  static const Fields<RecordedLayer> fields = {
      "recorded_layers",
      "layers of a profile",
      {part(&RecordedLayer::layer,
            field("name", &LayerProfile::name, "of the module", {}, required)),
       part(&RecordedLayer::layer,
            word("kind", &LayerProfile::kind, layer_kinds(), "as of `overlap`", required)),
       part(&RecordedLayer::layer,
            field("forward", &LayerProfile::forward, "median time", {}, required)),
       part(&RecordedLayer::layer,
            field("backward", &LayerProfile::backward, "median time", {}, required)),
       part(&RecordedLayer::layer,
            share("stdev", &LayerProfile::stdev, "of its time, without the iteration's factor",
                  at_least(Ratio{0}))),
       part(&RecordedLayer::layer,
            field("flops", &LayerProfile::flops, "of forward; 0: unknown", at_least(0.0))),
       part(&RecordedLayer::layer, inside("parameters", &LayerProfile::parameters, parameter_fields,
                                          "in the order of their registration")),
       inside("percentiles", &RecordedLayer::recording, layer_percentile_fields,
              "of all layers or of none")}};
  return fields;
}

/// The parameters' names with their places along the layers; each stands once.
std::map<std::string, TensorId> parameter_ids(const ComputeProfile& profile, YamlMap& map) {
  std::map<std::string, TensorId> ids;
  for (const auto& layer : profile.layers) {
    for (const auto& parameter : layer.parameters) {
      if (!ids.emplace(parameter.name, static_cast<TensorId>(ids.size())).second) {
        map.fail("layers",
                 fmt::format("parameter '{}' stands in two places; expected each name once",
                             parameter.name));
      }
    }
  }
  return ids;
}

/// The list `key` of every parameter once, as the values that `ids` gives their names.
std::vector<int> read_order(const std::string& key, const std::map<std::string, int>& ids,
                            YamlMap& map) {
  const YamlValue* value = map.find(key);
  std::vector<int> order;
  if (value == nullptr) return order;
  std::set<std::string> left;
  for (const auto& [name, id] : ids) left.insert(name);
  const auto names = map.list<std::string>(key);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = left.find(names[i]);
    if (at == left.end()) {
      const char* why = ids.contains(names[i]) ? "stands twice" : "is no parameter of the layers";
      throw ConfigError(value->items[i].where,
                        fmt::format("'{}' {}; expected each parameter once{}", names[i], why,
                                    suggestion(names[i], std::vector(left.begin(), left.end()))));
    }
    left.erase(at);
    order.push_back(ids.at(names[i]));
  }
  if (!left.empty()) {
    map.fail(key, fmt::format("'{}' is missing; expected each parameter once, {} in all",
                              *left.begin(), ids.size()));
  }
  return order;
}

/// Each tensor alone was bounded when it was read.
void check_elements(const ComputeProfile& profile, const YamlMap& map) {
  double elements = 0;
  for (const LayerProfile& layer : profile.layers) {
    for (const ParameterSpec& parameter : layer.parameters) {
      elements += static_cast<double>(parameter.elements());
    }
  }
  constexpr auto most = static_cast<double>(elements_max);
  if (elements > most) {
    map.fail("layers", fmt::format("the layers have {:.3g} elements together; expected at most "
                                   "{:.3g}",
                                   elements, most));
  }
}

void read_layers(YamlMap& map, RecordedProfile& recorded) {
  ComputeProfile& profile = recorded.profile;
  map.require_value("layers", "a list of layers in forward order");
  for (YamlMap& each : map.maps("layers")) {
    RecordedLayer read;
    layer_fields().read_all(std::move(each), read);
    profile.layers.push_back(std::move(read.layer));
    if (read.recording) recorded.recording.layers.push_back(*read.recording);
  }
  if (profile.layers.empty()) map.fail("layers", "'layers' has no item; expected at least one");
  check_elements(profile, map);
  if (!recorded.recording.layers.empty() &&
      recorded.recording.layers.size() != profile.layers.size()) {
    map.fail("layers", "some layers have 'percentiles' and some have not; expected all or none");
  }
}

void read_orders(ComputeProfile& profile, YamlMap& map) {
  auto ids = parameter_ids(profile, map);
  profile.registration = read_order("registration", ids, map);
  if (!profile.registration.empty()) {
    std::vector<TensorId> id_at(ids.size());
    for (std::size_t id = 0; id < ids.size(); ++id) {
      id_at[static_cast<std::size_t>(profile.registration[id])] = static_cast<TensorId>(id);
    }
    for (auto& [name, id] : ids) id = id_at[static_cast<std::size_t>(id)];
  }
  profile.gradient_order = read_order("gradient_order", ids, map);
  if (profile.gradient_order.empty()) {
    profile.gradient_order = reverse_registration_order(static_cast<int>(ids.size()));
  }
}

const Fields<RecordedProfile>& iteration_fields() {
  static const Fields<RecordedProfile> fields = {
      "recorded_iteration",
      "an iteration of a profile",
      {part(&RecordedProfile::profile,
            field("p50", &ComputeProfile::iteration, "median time, not under its parts",
                  above(Seconds{0}), required)),
       part(&RecordedProfile::profile,
            field("gpu_busy", &ComputeProfile::gpu_busy, "of which the GPU was busy", {},
                  "what its parts take")),
       part(&RecordedProfile::profile, share("factor_stdev", &ComputeProfile::factor_stdev,
                                             "what `jitter.iteration` is by default", {})),
       part(&RecordedProfile::recording,
            group("percentiles", iteration_percentile_fields, "for readers"))}};
  return fields;
}

/// Ratios of times, of no GPU.
bool is_shape(const YamlMap& map) {
  return !map.has("iteration") && !map.has("gpu");
}

void read_iteration(YamlMap& document, RecordedProfile& recorded) {
  ComputeProfile& profile = recorded.profile;
  const Seconds parts = profile.forward() + profile.backward() + profile.optimizer;
  profile.iteration = profile.gpu_busy = parts;
  if (is_shape(document)) {
    if (parts == Seconds{0}) document.fail("layers", "a shape whose layers take no time");
    return;
  }
  YamlMap map = document.require_map("iteration");
  iteration_fields().read(map, recorded);
  if (parts > (1 + rounding_share) * profile.iteration) {
    map.fail("p50",
             fmt::format("'p50' is shorter than its parts; expected at least {:.6g} ms, what "
                         "forward, backward and optimizer take",
                         parts.count() * 1e3));
  }
  if (!map.has("gpu_busy")) profile.gpu_busy = std::min(parts, profile.iteration);
  if (profile.gpu_busy > profile.iteration) {
    map.fail("gpu_busy", "'gpu_busy' is longer than the iteration; expected at most 'p50'");
  }
  map.finish();
}

const Fields<ComputeProfile>& optimizer_fields() {
  static const Fields<ComputeProfile> fields = {
      "recorded_optimizer",
      "the optimizer's step",
      {field("p50", &ComputeProfile::optimizer, "median time", {}, required),
       field("bytes_per_parameter", &ComputeProfile::optimizer_bytes_per_parameter,
             "that it moves")}};
  return fields;
}

const Fields<ComputeProfile>& host_fields() {
  static const Fields<ComputeProfile> fields = {
      "recorded_host",
      "the host's thread",
      {field("launch", &ComputeProfile::host_launch,
             "time to launch a layer's kernels, one direction", {}, required)}};
  return fields;
}

const Fields<ComputeProfile>& buffer_fields() {
  static const Fields<ComputeProfile> fields = {
      "buffers",
      "state that is not trained; no buffer is empty",
      {field("tensors", &ComputeProfile::buffers, "how many", at_least(0), required),
       {{"elements", required, "of all", value_info(at_least<std::int64_t>(0))},
        [](YamlMap& map, ComputeProfile& profile) {
          profile.buffer_elements = map.require<std::int64_t>(
              "elements", between(std::int64_t{profile.buffers}, elements_max));
        }},
       {{"bytes", "unknown", "of all, 1 to 16 an element", value_info<Bytes>()},
        [](YamlMap& map, ComputeProfile& profile) {
          const Bytes least{profile.buffer_elements};
          profile.buffer_bytes = map.value_or<Bytes>(
              "bytes", {}, between(least, Bytes{element_size_max * profile.buffer_elements}));
        }}}};
  return fields;
}

/// Of files that say more than ratios.
Field<RecordedProfile> of_a_gpu(const Field<ComputeProfile>& field) {
  KeyInfo key = field.info;
  key.fallback = "required with `iteration`; none of ratios";
  return {std::move(key), [field](YamlMap& map, RecordedProfile& recorded) {
            if (!is_shape(map)) field.read(map, recorded.profile);
          }};
}

Section recorded_overlap_section() {
  return overlap_section("recorded_overlap", layer_kinds());
}

/// In an order in which each is held against what was read before it.
const Fields<RecordedProfile>& profile_fields() {
  const auto of_profile = [](Field<ComputeProfile> field) {
    return part(&RecordedProfile::profile, std::move(field));
  };
  static const Fields<RecordedProfile> fields = {
      "profile_file",
      "what one GPU did, layer by layer",
      {of_profile(field("model", &ComputeProfile::model, "whose times these are", {}, required)),
       of_a_gpu(field("gpu", &ComputeProfile::gpu, "that took them", {}, required)),
       of_a_gpu(field("batch_per_gpu", &ComputeProfile::batch_per_gpu, "samples", at_least(1),
                      required)),
       of_a_gpu(field("dtype", &ComputeProfile::dtype, "of its arithmetic", {}, required)),
       of_profile(inside("source", &ComputeProfile::source, source_fields, "where it comes from",
                         required)),
       {{"layers", required, "in forward order", list_of(mapping_of(layer_fields))}, read_layers},
       of_profile(group("optimizer", optimizer_fields, "its step")),
       {{"iteration", "none: only ratios", "all of it", mapping_of(iteration_fields)},
        read_iteration},
       {{"registration", "as the layers", "all parameters' names as the framework has them",
         list_of(value_info<std::string>())}},
       {{"gradient_order", "that reversed", "all parameters' names as gradients become ready",
         list_of(value_info<std::string>())},
        [](YamlMap& map, RecordedProfile& recorded) { read_orders(recorded.profile, map); }},
       {{"overlap", "counted from the GPU", "times as long beside a collective, by kind of layer",
         mapping_of(recorded_overlap_section)},
        [](YamlMap& map, RecordedProfile& recorded) {
          auto overlap = map.optional_map("overlap");
          if (overlap) read_overlap(std::move(*overlap), layer_kinds(), recorded.profile.overlap);
        }},
       of_profile(group("host", host_fields, "what it takes", "nothing")),
       of_profile(group("buffers", buffer_fields, "state that is not trained")),
       part(&RecordedProfile::recording,
            inside("checks", &RecordedExtras::checks, check_fields, "for readers")),
       note<RecordedProfile>("recording", "of whoever recorded it, for readers")}};
  return fields;
}

}  // namespace

const std::vector<std::string>& layer_kinds() {
  static const std::vector<std::string> kinds = {"conv1",  "conv3", "conv7",   "grouped_conv",
                                                 "linear", "norm",  "act",     "add",
                                                 "pool",   "embed", "softmax", "other"};
  return kinds;
}

void read_overlap(YamlMap map, const std::vector<std::string>& kinds,
                  std::map<std::string, double>& overlap) {
  for (const auto& kind : kinds) {
    if (const auto factor = map.optional<double>(kind, at_least(1.0))) overlap[kind] = *factor;
  }
  map.finish();
}

Section overlap_section(const std::string& name, const std::vector<std::string>& kinds) {
  Section section{name, "times as long as work of a kind takes beside a collective", {}};
  for (const std::string& kind : kinds) {
    section.keys.push_back({kind, "counted from the GPU", "", value_info(at_least(1.0))});
  }
  return section;
}

const Fields<ParameterSpec>& tensor_fields() {
  static const Fields<ParameterSpec> fields = {"tensors", "parameters of a layer",
                                               name_and_shape()};
  return fields;
}

Section profile_file_section() {
  return profile_fields().section();
}

RecordedProfile read_recorded_profile(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.compute_profile/1");
  RecordedProfile recorded;
  profile_fields().read_all(std::move(map), recorded);
  return recorded;
}

ComputeProfile read_profile(const YamlValue& document) {
  return read_recorded_profile(document).profile;
}

}  // namespace gradwire::config
