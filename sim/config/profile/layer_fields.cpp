#include "sim/config/profile/layer_fields.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "sim/config/profile/model_fields.hpp"
#include "sim/config/profile/profile_yaml.hpp"

namespace gradwire::config {
namespace {

using Spec = LayerSpec;

// Bounds that keep every product of sizes within 64 bits; no model comes near.
constexpr std::int64_t size_max = 1'000'000;
constexpr std::int64_t kernel_max = 1'000;

Range<std::int64_t> sizes() {
  return between<std::int64_t>(1, size_max);
}

/// As it is written: the reader sees formulas worked out.
ValueInfo formula(const char* range = "at least 1") {
  return {.type = ValueInfo::Type::formula, .range = range};
}
template <class T>
Field<T> as_formula(Field<T> field) {
  field.info.value.type = ValueInfo::Type::formula;
  return field;
}

Field<Spec> layer_size(const std::string& name, std::int64_t Spec::*member, const std::string& doc,
                       const std::string& fallback = required) {
  return as_formula(field(name, member, doc, sizes(), fallback));
}

/// 3 or [3, 5].
Window read_window(YamlMap& map, const std::string& key, std::int64_t least) {
  const YamlValue& value = map.require_value(key, "a number of elements, or [height, width]");
  const auto range = between<std::int64_t>(least, kernel_max);
  if (value.kind != YamlValue::Kind::list) return square(map.require<std::int64_t>(key, range));
  const auto sides = map.list<std::int64_t>(key, range);
  if (sides.size() != 2) {
    map.fail(key, fmt::format("'{}' has {} numbers; expected one, or height and width", key,
                              sides.size()));
  }
  return {sides[0], sides[1]};
}

std::vector<Field<Spec>> steps() {
  return {{{"kernel", required, "elements a side, or [height, width]",
            either(formula(), list_of(formula()))},
           [](YamlMap& map, Spec& spec) { spec.kernel = read_window(map, "kernel", 1); }},
          as_formula(field("stride", &Spec::stride, "from window to window",
                           between<std::int64_t>(1, kernel_max),
                           "1; of a pooling the kernel's height")),
          {{"padding", "none, or what `output` asks for", "elements at each edge",
            either(formula("at least 0"), list_of(formula("at least 0")))},
           [](YamlMap& map, Spec& spec) {
             if (map.find("padding") != nullptr) spec.padding = read_window(map, "padding", 0);
           }}};
}

const Fields<MatrixShape>& product_fields() {
  using Shape = MatrixShape;
  static const Fields<Shape> fields = {
      "product",
      "a matrix product of one sample, of two activations",
      {as_formula(field("rows", &Shape::rows, "of the left", sizes(), required)),
       as_formula(field("columns", &Shape::columns, "of the right", sizes(), required)),
       as_formula(field("depth", &Shape::depth, "that is summed over", sizes(), required)),
       as_formula(field("count", &Shape::count, "such products in one kernel", sizes()))}};
  return fields;
}

const Fields<LayerWork>& work_fields() {
  using Work = LayerWork;
  static const Fields<Work> fields = {
      "layer_work",
      "what one sample asks of a pass",
      {as_formula(field("flops", &Work::flops, "2 a multiply-accumulate", at_least(0.0))),
       as_formula(
           field("elements", &Work::elements, "of activations, read and written", at_least(0.0))),
       as_formula(field("kernels", &Work::kernels, "launched, without fusion", at_least(0)))}};
  return fields;
}

Section raw_tensor_section() {
  Section section = tensor_fields().section();
  section.name = "raw_tensors";
  for (KeyInfo& key : section.keys) {
    if (key.name == "shape") key.value = list_of(formula());
  }
  return section;
}

std::vector<Field<Spec>> raw() {
  return {word("work", &Spec::work_kind, layer_kinds(), "by which it is priced", required),
          inside("forward", &Spec::forward, work_fields, "of the forward pass", required),
          inside("backward", &Spec::backward, work_fields, "of the backward pass", required),
          {{"parameters", "none", "its tensors", list_of(mapping_of(raw_tensor_section))},
           [](YamlMap& map, Spec& spec) {
             for (auto& tensor : map.maps("parameters")) {
               tensor_fields().read_all(std::move(tensor), spec.parameters.emplace_back());
             }
           }}};
}

/// The keys of a kind beside those of every layer.
std::vector<Field<Spec>> own_fields(const std::string& kind) {
  const auto out = layer_size("out", &Spec::out, "channels or features that it gives");
  const auto bias = field("bias", &Spec::bias, "a tensor of its own");
  if (kind == "conv") {
    auto fields = steps();
    fields.insert(fields.begin(), out);
    fields.push_back(layer_size("groups", &Spec::groups, "of channels", "1"));
    fields.push_back(bias);
    return fields;
  }
  if (kind == "max_pool" || kind == "average_pool") {
    auto fields = steps();
    fields.push_back(field("ceil", &Spec::ceil, "windows that the edge cuts count"));
    return fields;
  }
  if (kind == "adaptive_pool")
    return {layer_size("size", &Spec::size, "a side that it gives", "1")};
  if (kind == "linear") {
    return {
        out, bias,
        field("tied_to", &Spec::tied_to, "the embedding whose table is its weight", {}, "none")};
  }
  if (kind == "embedding") return {layer_size("rows", &Spec::rows, "of its table"), out};
  if (kind == "attention")
    return {layer_size("heads", &Spec::heads,
                       "of the queries; keys and values may have fewer (grouped queries)")};
  if (kind == "product") {
    return {inside("product", &Spec::product, product_fields, "its sizes", required)};
  }
  return kind == "raw" ? raw() : std::vector<Field<Spec>>{};
}

/// Those of each kind.
const std::map<std::string, Fields<Spec>>& kind_fields() {
  static const auto all = [] {
    std::map<std::string, Fields<Spec>> fields;
    for (const std::string& kind : layer_spec_kinds()) {
      fields.emplace(kind, Fields<Spec>(kind, "a layer's", own_fields(kind)));
    }
    return fields;
  }();
  return all;
}

void read_inputs(YamlMap& map, Spec& spec) {
  const YamlValue* input = map.find("input");
  spec.inputs = map.list<std::string>("inputs");
  if (input == nullptr) return;
  if (!spec.inputs.empty()) {
    map.fail("input", "both 'input' and 'inputs' are given; expected one of them");
  }
  if (input->kind == YamlValue::Kind::list) {
    spec.input_shape = read_sample_shape(map, "input");
  } else {
    spec.inputs = {map.require<std::string>("input")};
  }
}

const Fields<Spec>& layer_fields() {
  static const Fields<Spec> fields = {
      "layers",
      "a layer, in forward order",
      {field("name", &Spec::name, "its own", {}, required),
       word("kind", &Spec::kind, layer_spec_kinds(), "what it does", required),
       {{"input", "the layer before", "a layer's name, or the shape of one sample",
         either(value_info<std::string>(), list_of(formula()))},
        read_inputs},
       {{"inputs", "none",
         "several layers' names, in its place: two of `add`, `product`; queries, keys and values "
         "of `attention`",
         list_of(value_info<std::string>())}},
       {{"output", "what follows from the input",
         "the shape that it gives: checked; of convolutions and pooling in place of stride and "
         "padding",
         list_of(formula())},
        [](YamlMap& map, Spec& spec) {
          if (map.find("output") != nullptr) spec.output_shape = read_sample_shape(map, "output");
        }}}};
  return fields;
}

Section layer_section() {
  Section section = layer_fields().section();
  section.chosen_by = "kind";
  for (const std::string& kind : layer_spec_kinds()) {
    section.variants.push_back({kind, kind_fields().at(kind).keys()});
  }
  return section;
}

}  // namespace

std::vector<std::int64_t> read_sample_shape(YamlMap& map, const std::string& key) {
  auto shape = map.list<std::int64_t>(key, sizes());
  if (shape.empty() || shape.size() > 3) {
    map.fail(key, fmt::format("'{}' has {} numbers; expected [channels, height, width], "
                              "[tokens, features] or [features], without the batch",
                              key, shape.size()));
  }
  return shape;
}

LayerSpec read_layer(YamlMap& map) {
  LayerSpec spec;
  layer_fields().read(map, spec);
  kind_fields().at(spec.kind).read(map, spec);
  if (spec.kind == "product") spec.product.weight_operand = false;
  map.finish();
  return spec;
}

const Fields<Repeat>& repeat_fields() {
  static const Fields<Repeat> fields = {
      "repeat",
      "a list of layers, several times",
      {as_formula(field("repeat", &Repeat::count, "how often", between(1, layers_max), required)),
       field("as", &Repeat::index, "name of a copy's number from 0: `{i}` in its texts"),
       {{"layers", required, "of a copy, as those of the file", layers_value()},
        [](YamlMap& map, Repeat& /*repeat*/) {
          map.require_value("layers", "the layers of a copy");
        }}}};
  return fields;
}

ValueInfo layers_value() {
  return list_of(
      either(mapping_of(layer_section), mapping_of([] { return repeat_fields().section(); })));
}

}  // namespace gradwire::config
