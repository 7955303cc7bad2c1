#include "sim/config/profile/model_yaml.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/model_templates.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::config {
namespace {

constexpr const char* model_schema = "gradwire.model/1";

// Bounds that keep every product of sizes within 64 bits; no model comes near.
constexpr std::int64_t size_max = 1'000'000;
constexpr std::int64_t kernel_max = 1'000;

Range<std::int64_t> sizes() {
  return between<std::int64_t>(1, size_max);
}

std::vector<std::int64_t> read_shape(YamlMap& map, const std::string& key) {
  auto shape = map.list<std::int64_t>(key, sizes());
  if (shape.empty() || shape.size() > 3) {
    map.fail(key, fmt::format("'{}' has {} numbers; expected [channels, height, width], "
                              "[tokens, features] or [features], without the batch",
                              key, shape.size()));
  }
  return shape;
}

/// 3 or [3, 5].
std::optional<Window> read_window(YamlMap& map, const std::string& key, std::int64_t least) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return std::nullopt;
  const auto range = between<std::int64_t>(least, kernel_max);
  if (value->kind != YamlValue::Kind::list) {
    return square(map.require<std::int64_t>(key, range));
  }
  const auto sides = map.list<std::int64_t>(key, range);
  if (sides.size() != 2) {
    map.fail(key, fmt::format("'{}' has {} numbers; expected one, or height and width", key,
                              sides.size()));
  }
  return Window{sides[0], sides[1]};
}

Window require_window(YamlMap& map, const std::string& key) {
  map.require_value(key, "a number of elements, or [height, width]");
  return read_window(map, key, 1).value_or(Window{});
}

void read_inputs(YamlMap& map, LayerSpec& spec) {
  const YamlValue* input = map.find("input");
  spec.inputs = map.list<std::string>("inputs");
  if (input == nullptr) return;
  if (!spec.inputs.empty()) {
    map.fail("input", "both 'input' and 'inputs' are given; expected one of them");
  }
  if (input->kind == YamlValue::Kind::list) {
    spec.input_shape = read_shape(map, "input");
  } else {
    spec.inputs = {map.require<std::string>("input")};
  }
}

void read_steps(YamlMap& map, LayerSpec& spec) {
  spec.kernel = require_window(map, "kernel");
  spec.stride = map.optional<std::int64_t>("stride", between<std::int64_t>(1, kernel_max));
  spec.padding = read_window(map, "padding", 0);
}

LayerWork read_work(YamlMap map) {
  LayerWork work;
  work.flops = map.value_or<double>("flops", 0, at_least(0.0));
  work.elements = map.value_or<double>("elements", 0, at_least(0.0));
  work.kernels = map.value_or<int>("kernels", 1, at_least(0));
  map.finish();
  return work;
}

void read_raw(YamlMap& map, LayerSpec& spec) {
  spec.work_kind = map.require_choice("work", layer_kinds());
  spec.forward = read_work(map.require_map("forward"));
  spec.backward = read_work(map.require_map("backward"));
  for (auto& tensor : map.maps("parameters")) {
    tensor_fields().read_all(std::move(tensor), spec.parameters.emplace_back());
  }
}

MatrixShape read_product(YamlMap map) {
  MatrixShape shape;
  shape.rows = map.require<std::int64_t>("rows", sizes());
  shape.columns = map.require<std::int64_t>("columns", sizes());
  shape.depth = map.require<std::int64_t>("depth", sizes());
  shape.count = map.value_or<std::int64_t>("count", 1, sizes());
  shape.weight_operand = false;
  map.finish();
  return shape;
}

/// The keys of the layer's kind; others are refused by finish().
void read_kind(YamlMap& map, LayerSpec& spec) {
  if (spec.kind == "conv") {
    spec.out = map.require<std::int64_t>("out", sizes());
    read_steps(map, spec);
    spec.groups = map.value_or<std::int64_t>("groups", 1, sizes());
    spec.bias = map.value_or<bool>("bias", true);
  } else if (spec.kind == "max_pool" || spec.kind == "average_pool") {
    read_steps(map, spec);
    spec.ceil = map.value_or<bool>("ceil", false);
  } else if (spec.kind == "adaptive_pool") {
    spec.size = map.value_or<std::int64_t>("size", 1, sizes());
  } else if (spec.kind == "linear") {
    spec.out = map.require<std::int64_t>("out", sizes());
    spec.bias = map.value_or<bool>("bias", true);
    spec.tied_to = map.value_or<std::string>("tied_to", "");
  } else if (spec.kind == "embedding") {
    spec.rows = map.require<std::int64_t>("rows", sizes());
    spec.out = map.require<std::int64_t>("out", sizes());
  } else if (spec.kind == "attention") {
    spec.heads = map.require<std::int64_t>("heads", sizes());
  } else if (spec.kind == "product") {
    spec.product = read_product(map.require_map("product"));
  } else if (spec.kind == "raw") {
    read_raw(map, spec);
  }
}

LayerSpec read_layer(YamlMap& map) {
  LayerSpec spec;
  spec.name = map.require<std::string>("name");
  spec.kind = map.require_choice("kind", layer_spec_kinds());
  read_inputs(map, spec);
  if (map.find("output") != nullptr) spec.output_shape = read_shape(map, "output");
  read_kind(map, spec);
  map.finish();
  return spec;
}

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
                                  fmt::join(tensor.shape, ", ")));
  }
  if (!tensors.empty()) text += fmt::format(", parameters: [{}]", fmt::join(tensors, ", "));
  return text;
}

std::string layer_text(const LayerSpec& spec) {
  std::string text = fmt::format("  - {{name: {}, kind: {}", yaml_quoted(spec.name), spec.kind);
  if (!spec.input_shape.empty()) {
    text += fmt::format(", input: [{}]", fmt::join(spec.input_shape, ", "));
  }
  if (!spec.inputs.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : spec.inputs) names.push_back(yaml_quoted(name));
    text += fmt::format(", inputs: [{}]", fmt::join(names, ", "));
  }
  if (!spec.output_shape.empty()) {
    text += fmt::format(", output: [{}]", fmt::join(spec.output_shape, ", "));
  }
  return text + kind_text(spec) + "}\n";
}

}  // namespace

ModelDescription read_model_file(const YamlValue& document) {
  if (const auto shape = read_decoder_file(document)) return decoder(*shape);
  YamlMap map(document);
  map.require_schema(model_schema);
  const auto name = map.require<std::string>("name");
  const auto source = map.value_or<std::string>("source", document.where.file);
  map.require_value("input", "the shape of one sample, such as [3, 224, 224]");
  const auto input = read_shape(map, "input");
  map.require_value("layers", "a list of layers in forward order");
  map.find("parameters");
  if (map.maps("layers").empty()) map.fail("layers", "'layers' has no item; expected at least one");
  const YamlValue written = written_out_layers(document);
  std::vector<YamlMap> places;
  for (const YamlValue& layer : written.items) places.emplace_back(layer);
  std::vector<LayerSpec> layers;
  layers.reserve(places.size());
  for (YamlMap& place : places) layers.push_back(read_layer(place));
  map.finish();
  try {
    return build_layers(name, source, input, layers);
  } catch (const LayerListError& error) {
    places.at(error.layer()).fail(error.key(), error.what());
  }
}

std::string write_model_file(const ModelFile& model, std::span<const std::string> comments) {
  std::string text;
  for (const std::string& comment : comments) text += plain_format("# {}\n", comment);
  text +=
      fmt::format("schema: {}\nname: {}\nsource: {}\ninput: [{}]\nlayers:\n", model_schema,
                  yaml_quoted(model.name), yaml_quoted(model.source), fmt::join(model.input, ", "));
  for (const LayerSpec& layer : model.layers) text += layer_text(layer);
  return text;
}

}  // namespace gradwire::config
