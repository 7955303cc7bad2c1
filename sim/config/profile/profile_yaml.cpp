#include "sim/config/profile/profile_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "sim/config/profile/recorded_extras_yaml.hpp"

namespace gradwire::config {
namespace {

/// Sums of times that were rounded when they were written may exceed their total by this share.
constexpr double rounding = 1e-3;
/// Of a tensor, or of all buffers: keeps sums within 64 bits; no model comes near.
constexpr std::int64_t elements_max = 1'000'000'000'000'000;
/// An element takes from a byte (bool) to 16 (complex128).
constexpr std::int64_t element_size_max = 16;

ProfileSource read_source(YamlMap map) {
  static const std::vector<std::string> kinds = {"recorded", "imported", "derived",
                                                 "analytic-scaled", "analytic"};
  ProfileSource source;
  source.kind = map.require_choice("kind", kinds);
  source.tool = map.value_or<std::string>("tool", "");
  source.file = map.value_or<std::string>("file", "");
  source.date = map.value_or<std::string>("date", "");
  source.notes = map.value_or<std::string>("notes", "");
  map.finish();
  return source;
}

LayerProfile read_layer(YamlMap& map, RecordedExtras& recording) {
  LayerProfile layer;
  layer.name = map.require<std::string>("name");
  layer.kind = map.require_choice("kind", layer_kinds());
  layer.forward = map.require<Seconds>("forward");
  layer.backward = map.require<Seconds>("backward");
  layer.stdev = map.value_or<Ratio>("stdev", {}, at_least(Ratio{0})).value;
  layer.flops = map.value_or<double>("flops", 0, at_least(0.0));
  for (auto& parameter : map.maps("parameters")) {
    layer.parameters.push_back(read_parameter(parameter));
    layer.parameters.back().ready = parameter.optional<Seconds>("ready");
    layer.parameters.back().shared = parameter.value_or<bool>("shared", false);
    parameter.finish();
  }
  if (const auto percentiles = read_layer_percentiles(map)) {
    recording.layers.push_back(*percentiles);
  }
  map.finish();
  return layer;
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

void read_iteration(RecordedProfile& recorded, YamlMap map) {
  ComputeProfile& profile = recorded.profile;
  profile.iteration = map.require<Seconds>("p50", above(Seconds{0}));
  const Seconds parts = profile.forward() + profile.backward() + profile.optimizer;
  if (parts > (1 + rounding) * profile.iteration) {
    map.fail("p50",
             fmt::format("'p50' is shorter than its parts; expected at least {:.6g} ms, what "
                         "forward, backward and optimizer take",
                         parts.count() * 1e3));
  }
  profile.gpu_busy = map.value_or<Seconds>("gpu_busy", std::min(parts, profile.iteration));
  if (profile.gpu_busy > profile.iteration) {
    map.fail("gpu_busy", "'gpu_busy' is longer than the iteration; expected at most 'p50'");
  }
  profile.factor_stdev = map.value_or<Ratio>("factor_stdev", {}).value;
  read_iteration_percentiles(map, recorded.recording);
  map.finish();
}

/// No buffer is empty.
void read_buffers(ComputeProfile& profile, YamlMap map) {
  profile.buffers = map.require<int>("tensors", at_least(0));
  profile.buffer_elements =
      map.require<std::int64_t>("elements", between(std::int64_t{profile.buffers}, elements_max));
  profile.buffer_bytes = map.value_or<Bytes>(
      "bytes", {},
      between(Bytes{profile.buffer_elements}, Bytes{element_size_max * profile.buffer_elements}));
  map.finish();
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

ParameterSpec read_parameter(YamlMap& map) {
  ParameterSpec parameter;
  parameter.name = map.require<std::string>("name");
  map.require_value("shape", "a list of whole numbers, at least 1");
  parameter.shape = map.list<std::int64_t>("shape", at_least<std::int64_t>(1));
  double elements = 1;
  for (const std::int64_t side : parameter.shape) elements *= static_cast<double>(side);
  constexpr auto most = static_cast<double>(elements_max);
  if (elements > most) {
    map.fail("shape", fmt::format("tensor '{}' has {:.3g} elements; expected at most {:.3g}",
                                  parameter.name, elements, most));
  }
  return parameter;
}

RecordedProfile read_recorded_profile(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.compute_profile/1");
  RecordedProfile recorded;
  ComputeProfile& profile = recorded.profile;
  profile.model = map.require<std::string>("model");
  const bool shape = !map.has("iteration") && !map.has("gpu");
  if (!shape) {
    profile.gpu = map.require<std::string>("gpu");
    profile.batch_per_gpu = map.require<int>("batch_per_gpu", at_least(1));
    profile.dtype = map.require<std::string>("dtype");
  }
  profile.source = read_source(map.require_map("source"));
  map.require_value("layers", "a list of layers in forward order");
  for (auto& layer : map.maps("layers")) {
    profile.layers.push_back(read_layer(layer, recorded.recording));
  }
  if (profile.layers.empty()) map.fail("layers", "'layers' has no item; expected at least one");
  check_elements(profile, map);
  if (auto optimizer = map.optional_map("optimizer")) {
    profile.optimizer = optimizer->require<Seconds>("p50");
    profile.optimizer_bytes_per_parameter = optimizer->value_or<Bytes>("bytes_per_parameter", {});
    optimizer->finish();
  }
  if (shape) {
    profile.iteration = profile.gpu_busy =
        profile.forward() + profile.backward() + profile.optimizer;
    if (profile.iteration == Seconds{0}) map.fail("layers", "a shape whose layers take no time");
  } else {
    read_iteration(recorded, map.require_map("iteration"));
  }
  if (!recorded.recording.layers.empty() &&
      recorded.recording.layers.size() != profile.layers.size()) {
    map.fail("layers", "some layers have 'percentiles' and some have not; expected all or none");
  }
  read_orders(profile, map);
  if (auto overlap = map.optional_map("overlap")) {
    read_overlap(std::move(*overlap), layer_kinds(), profile.overlap);
  }
  if (auto host = map.optional_map("host")) {
    profile.host_launch = host->require<Seconds>("launch");
    host->finish();
  }
  if (auto buffers = map.optional_map("buffers")) read_buffers(profile, std::move(*buffers));
  recorded.recording.checks = read_checks(map);
  map.find("recording");  // free notes of whoever recorded it
  map.finish();
  return recorded;
}

ComputeProfile read_profile(const YamlValue& document) {
  return read_recorded_profile(document).profile;
}

}  // namespace gradwire::config
