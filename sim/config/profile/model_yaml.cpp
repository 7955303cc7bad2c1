#include "sim/config/profile/model_yaml.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/layer_fields.hpp"
#include "sim/config/profile/model_templates.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::config {
namespace {

constexpr const char* model_schema = "gradwire.model/1";

std::string window_text(const Window& window) {
  if (window.height == window.width) return std::to_string(window.height);
  return fmt::format("[{}, {}]", window.height, window.width);
}

std::string work_text(const char* key, const LayerWork& work) {
  return fmt::format(", {}: {{flops: {}, elements: {}, kernels: {}}}", key, work.flops,
                     work.elements, work.kernels);
}

std::string kind_text(const LayerSpec& spec) {
  std::string text;
  if (spec.out > 0) text += fmt::format(", out: {}", spec.out);
  if (spec.heads > 0) text += fmt::format(", heads: {}", spec.heads);
  if (spec.rows > 0) text += fmt::format(", rows: {}", spec.rows);
  if (spec.kind == "conv" || spec.kind == "max_pool" || spec.kind == "average_pool") {
    text += ", kernel: " + window_text(spec.kernel);
    if (spec.stride) text += fmt::format(", stride: {}", *spec.stride);
    if (spec.padding) text += ", padding: " + window_text(*spec.padding);
  }
  if (spec.groups > 1) text += fmt::format(", groups: {}", spec.groups);
  if (!spec.bias) text += ", bias: false";
  if (spec.ceil) text += ", ceil: true";
  if (spec.kind == "adaptive_pool") text += fmt::format(", size: {}", spec.size);
  if (!spec.tied_to.empty()) text += ", tied_to: " + yaml_quoted(spec.tied_to);
  if (spec.kind == "product") {
    text +=
        fmt::format(", product: {{rows: {}, columns: {}, depth: {}, count: {}}}", spec.product.rows,
                    spec.product.columns, spec.product.depth, spec.product.count);
  }
  if (spec.kind != "raw") return text;
  text += ", work: " + spec.work_kind;
  text += work_text("forward", spec.forward) + work_text("backward", spec.backward);
  std::vector<std::string> tensors;
  for (const ParameterSpec& tensor : spec.parameters) {
    tensors.push_back(fmt::format("{{name: {}, shape: [{}]}}", yaml_quoted(tensor.name),
                                  joined_by(tensor.shape, ", ")));
  }
  if (!tensors.empty()) text += fmt::format(", parameters: [{}]", joined_by(tensors, ", "));
  return text;
}

std::string layer_text(const LayerSpec& spec) {
  std::string text = fmt::format("  - {{name: {}, kind: {}", yaml_quoted(spec.name), spec.kind);
  if (!spec.input_shape.empty()) {
    text += fmt::format(", input: [{}]", joined_by(spec.input_shape, ", "));
  }
  if (!spec.inputs.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : spec.inputs) names.push_back(yaml_quoted(name));
    text += fmt::format(", inputs: [{}]", joined_by(names, ", "));
  }
  if (!spec.output_shape.empty()) {
    text += fmt::format(", output: [{}]", joined_by(spec.output_shape, ", "));
  }
  return text + kind_text(spec) + "}\n";
}

/// A file's head.
struct WrittenModel {
  std::string name;
  std::optional<std::string> source;
  std::vector<std::int64_t> input;
};

const Fields<WrittenModel>& head_fields() {
  static const Fields<WrittenModel> fields = {
      "model_file",
      "a model of your own",
      {field("name", &WrittenModel::name, "its own", {}, required),
       field("source", &WrittenModel::source, "where it is known from", {}, "the file"),
       {{"input", "required, but for `decoder`",
         "the shape of one sample: [channels, height, width], [tokens, features] or [features]",
         list_of(value_info(at_least(1)))},
        [](YamlMap& map, WrittenModel& model) {
          map.require_value("input", "the shape of one sample, such as [3, 224, 224]");
          model.input = read_sample_shape(map, "input");
        }},
       {{"layers", "this or decoder", "in forward order", layers_value()},
        [](YamlMap& map, WrittenModel& /*model*/) {
          map.require_value("layers", "a list of layers in forward order");
          if (!map.maps("layers").empty()) return;
          map.fail("layers", "'layers' has no item; expected at least one");
        }},
       {{"parameters", "none", "names of whole numbers, for formulas", mapping_of([] {
           return Section{
               .name = "model_parameters",
               .summary = "whole numbers by name, each of those before it",
               .keys = {},
               .others = KeyInfo{"NAME", "none", "its value", {.type = ValueInfo::Type::formula}}};
         })},
        [](YamlMap& map, WrittenModel& /*model*/) { map.find("parameters"); }}}};
  return fields;
}

}  // namespace

Section model_section() {
  Section section = head_fields().section();
  section.keys.push_back(
      {"decoder", "this or layers", "a decoder by its shape", mapping_of(decoder_fields)});
  return section;
}

ModelDescription read_model_file(const YamlValue& document) {
  if (const auto shape = read_decoder_file(document)) return decoder(*shape);
  YamlMap map(document);
  map.require_schema(model_schema);
  WrittenModel model;
  head_fields().read_all(std::move(map), model);
  const YamlValue written = written_out_layers(document);
  std::vector<YamlMap> places;
  for (const YamlValue& layer : written.items) places.emplace_back(layer);
  std::vector<LayerSpec> layers;
  layers.reserve(places.size());
  for (YamlMap& place : places) layers.push_back(read_layer(place));
  try {
    return build_layers(model.name, model.source.value_or(document.where.file), model.input,
                        layers);
  } catch (const LayerListError& error) {
    places.at(error.layer()).fail(error.key(), error.what());
  }
}

std::string write_model_file(const ModelFile& model, std::span<const std::string> comments) {
  std::string text;
  for (const std::string& comment : comments) text += plain_format("# {}\n", comment);
  text +=
      fmt::format("schema: {}\nname: {}\nsource: {}\ninput: [{}]\nlayers:\n", model_schema,
                  yaml_quoted(model.name), yaml_quoted(model.source), joined_by(model.input, ", "));
  for (const LayerSpec& layer : model.layers) text += layer_text(layer);
  return text;
}

}  // namespace gradwire::config
