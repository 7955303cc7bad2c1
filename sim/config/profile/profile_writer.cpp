#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/profile/recorded_extras_yaml.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::config {
namespace {

constexpr std::size_t line_length = 100;

/// A name as it stands, or in quotes where YAML would read something else.
std::string plain_or_quoted(const std::string& name) {
  const bool plain = !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
                     name != "null" && std::ranges::all_of(name, [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                              std::string_view("._-/").find(c) != std::string_view::npos;
                     });
  return plain ? name : yaml_quoted(name);
}

std::string parameter_text(const ParameterSpec& parameter) {
  std::string text = fmt::format("{{name: {}, shape: [{}]", plain_or_quoted(parameter.name),
                                 joined_by(parameter.shape, ", "));
  if (parameter.ready) text += ", ready: " + microseconds_text(*parameter.ready);
  if (parameter.shared) text += ", shared: true";
  return text + "}";
}

std::string layer_text(const LayerProfile& layer, const LayerRecording* recording) {
  std::string text = fmt::format(
      "  - {{name: {}, kind: {}, forward: {}, backward: {}", plain_or_quoted(layer.name),
      layer.kind, microseconds_text(layer.forward), microseconds_text(layer.backward));
  if (layer.stdev > 0) text += ", stdev: " + per_cent_text(layer.stdev);
  if (layer.flops > 0) text += fmt::format(", flops: {:.10g}", layer.flops);
  if (!layer.parameters.empty()) {
    std::vector<std::string> parameters;
    for (const auto& parameter : layer.parameters) parameters.push_back(parameter_text(parameter));
    text += fmt::format(",\n     parameters: [{}]", joined_by(parameters, ",\n                  "));
  }
  if (recording != nullptr) {
    text += ",\n     percentiles: " + layer_percentiles_text(*recording);
  }
  return text + "}\n";
}

/// Names in flow style, folded into lines.
std::string names_text(const char* key, const std::vector<std::string>& names) {
  std::string text = fmt::format("{}:\n  [", key);
  std::size_t column = 3;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = plain_or_quoted(names[i]) + (i + 1 < names.size() ? ", " : "]\n");
    if (column + name.size() > line_length) {
      text.pop_back();  // the blank after the comma
      text += "\n   ";
      column = 3;
    }
    text += name;
    column += name.size();
  }
  return text;
}

std::string source_text(const ProfileSource& source) {
  std::string text = fmt::format("source:\n  kind: {}\n", source.kind);
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {}: {}\n", key, yaml_quoted(value));
  };
  add("tool", source.tool);
  add("file", source.file);
  add("date", source.date);
  add("notes", source.notes);
  return text;
}

std::string iteration_text(const RecordedProfile& recorded) {
  const ComputeProfile& profile = recorded.profile;
  std::string text =
      fmt::format("iteration:\n  p50: {}\n  gpu_busy: {}\n", microseconds_text(profile.iteration),
                  microseconds_text(profile.gpu_busy));
  if (profile.factor_stdev > 0) {
    text += fmt::format("  factor_stdev: {}\n", per_cent_text(profile.factor_stdev));
  }
  const std::string percentiles = iteration_percentiles_text(recorded.recording);
  if (!percentiles.empty()) text += fmt::format("  percentiles: {}\n", percentiles);
  return text;
}

std::string constants_text(const ComputeProfile& profile) {
  std::string text;
  if (profile.optimizer > Seconds{}) {
    text += fmt::format("optimizer: {{p50: {}", microseconds_text(profile.optimizer));
    if (profile.optimizer_bytes_per_parameter > Bytes{}) {
      text +=
          fmt::format(", bytes_per_parameter: {} B", profile.optimizer_bytes_per_parameter.count());
    }
    text += "}\n";
  }
  if (profile.buffers > 0) {
    text += fmt::format("buffers: {{tensors: {}, elements: {}", profile.buffers,
                        profile.buffer_elements);
    if (profile.buffer_bytes > Bytes{}) {
      text += fmt::format(", bytes: {} B", profile.buffer_bytes.count());
    }
    text += "}\n";
  }
  if (profile.host_launch > Seconds{}) {
    text += fmt::format("host: {{launch: {}}}\n", microseconds_text(profile.host_launch));
  }
  if (!profile.overlap.empty()) {
    std::vector<std::string> kinds;
    for (const auto& [kind, factor] : profile.overlap) {
      kinds.push_back(fmt::format("{}: {:.4g}", kind, factor));
    }
    text += fmt::format("overlap: {{{}}}\n", joined_by(kinds, ", "));
  }
  return text;
}

}  // namespace

std::string write_profile(const RecordedProfile& recorded, std::span<const std::string> comments) {
  const ComputeProfile& profile = recorded.profile;
  const auto& recordings = recorded.recording.layers;
  std::string text;
  for (const std::string& comment : comments) text += plain_format("# {}\n", comment);
  text += fmt::format("schema: gradwire.compute_profile/1\nmodel: {}\n",
                      plain_or_quoted(profile.model));
  if (!profile.is_shape()) {
    text += fmt::format("gpu: {}\nbatch_per_gpu: {}\ndtype: {}\n", plain_or_quoted(profile.gpu),
                        profile.batch_per_gpu, plain_or_quoted(profile.dtype));
  }
  text += source_text(profile.source);
  if (!profile.is_shape()) text += iteration_text(recorded);
  text += constants_text(profile) + checks_text(recorded.recording.checks) + "layers:\n";
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    text += layer_text(profile.layers[i], i < recordings.size() ? &recordings[i] : nullptr);
  }
  const std::vector<TensorInfo> tensors = tensors_of(profile);
  if (!profile.registration.empty()) {
    std::vector<std::string> names(tensors.size());
    std::ranges::transform(tensors, names.begin(), &TensorInfo::name);
    text += names_text("registration", names);
  }
  if (!profile.gradient_order.empty()) {
    std::vector<std::string> names;
    for (const TensorId id : profile.gradient_order) {
      names.push_back(tensors[static_cast<std::size_t>(id)].name);
    }
    text += names_text("gradient_order", names);
  }
  return text;
}

}  // namespace gradwire::config
