#include "sim/config/profile/model_templates.hpp"

#include <algorithm>
#include <string>

#include "sim/config/profile/model_yaml.hpp"
#include "sim/models/decoder.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

ModelDescription read(const std::string& text) {
  return config::read_model_file(
      config::parse_yaml("schema: gradwire.model/1\nname: small\n" + text, "m.yaml"));
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

double forward_flops(const ModelDescription& model) {
  double flops = 0;
  for (const ModelLayer& layer : model.layers) flops += layer.forward.flops;
  return flops;
}

}  // namespace

TEST_CASE("A decoder of repeated layers with grouped queries is the built-in one",
          "[config][models]") {
  // GPT's norms and activation, no biases in norms and products but those of layer_norm itself
  const ModelDescription model = read(R"(input: [32]
parameters: {h: 64, heads: 4, kv: 2, f: 4 * h}
layers:
  - {name: embed, kind: embedding, rows: 100, out: h}
  - repeat: 3
    layers:
      - {name: "block.{i}.norm1", kind: layer_norm}
      - {name: "block.{i}.q", kind: linear, out: h, bias: false}
      - {name: "block.{i}.k", kind: linear, out: h * kv / heads, bias: false, input: "block.{i}.norm1"}
      - {name: "block.{i}.v", kind: linear, out: h * kv / heads, bias: false, input: "block.{i}.norm1"}
      - {name: "block.{i}.attn", kind: attention, heads: heads,
         inputs: ["block.{i}.q", "block.{i}.k", "block.{i}.v"]}
      - {name: "block.{i}.o", kind: linear, out: h, bias: false}
      - {name: "block.{i}.sum1", kind: add, inputs: ["block.{i}.o", "{before}"]}
      - {name: "block.{i}.norm2", kind: layer_norm}
      - {name: "block.{i}.up", kind: linear, out: f, bias: false}
      - {name: "block.{i}.act", kind: act}
      - {name: "block.{i}.down", kind: linear, out: h, bias: false}
      - {name: "block.{i}.sum2", kind: add, inputs: ["block.{i}.down", "block.{i}.sum1"]}
  - {name: norm, kind: layer_norm}
  - {name: head, kind: linear, out: 100, bias: false}
)");
  DecoderShape shape{.name = "small", .source = "a test"};
  shape.layers = 3;
  shape.hidden = 64;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.ffn = 256;
  shape.vocabulary = 100;
  shape.sequence_length = 32;
  shape.activation = DecoderShape::Activation::gelu;
  shape.norm = DecoderShape::Norm::layer;
  shape.positions = DecoderShape::Positions::alibi;
  const ModelDescription own = decoder(shape);
  CHECK(model.parameter_count() == own.parameter_count());
  double loss = 0;
  for (const ModelLayer& layer : own.layers) {
    if (layer.name == "loss") loss = layer.forward.flops;
  }
  CHECK(forward_flops(model) == Approx(forward_flops(own) - loss).epsilon(1e-9));
  // the last copy's residual reads the second's end
  const auto sum = std::ranges::find(model.layers, "block.2.sum1", &ModelLayer::name);
  CHECK(sum != model.layers.end());
}

TEST_CASE("A size of a model file is an expression of its parameters", "[config][models]") {
  const auto width = [](const std::string& out) {
    const ModelDescription model = read(
        "input: [7]\nparameters: {a: 6, b: a * (a - 2), _c2: b / 8}\n"
        "layers: [{name: fc, kind: linear, out: " +
        out + ", bias: false}]\n");
    return model.parameter_count() / 7;
  };
  CHECK(width("b") == 24);
  CHECK(width("b - a - 1") == 17);
  CHECK(width("2 * (a + _c2) / 3") == 6);
  CHECK(width("(((a)))*2") == 12);
  CHECK(width("12") == 12);
}

TEST_CASE("What is wrong in a model file's shorthand is told at its place", "[config][models]") {
  const auto size = [](const std::string& out) {
    return refusal(
        "input: [7]\nparameters: {width: 6}\nlayers:\n  - {name: fc, kind: linear, out: " + out +
        "}\n");
  };
  CHECK(
      size("wdth * 2") ==
      "m.yaml:6:35: 'wdth * 2' is no size: 'wdth' is no parameter; did you mean 'width'?; expected "
      "whole numbers and names of 'parameters' with + - * / and parentheses");
  CHECK_THAT(size("width / 4"), Catch::ContainsSubstring("6 / 4 is no whole number"));
  CHECK_THAT(size("width / 0"), Catch::ContainsSubstring("6 / 0 is no whole number"));
  CHECK_THAT(size("(width"), Catch::ContainsSubstring("a parenthesis is not closed"));
  CHECK_THAT(size("width width"), Catch::ContainsSubstring("'width' is left over"));
  CHECK_THAT(size("width *"), Catch::ContainsSubstring("a number or a name is missing"));
  CHECK_THAT(size("width - 6"), Catch::ContainsSubstring("'out' is '0'; expected a whole number"));
  CHECK_THAT(size("999999999 * 999999999"), Catch::ContainsSubstring("it is too large"));
  CHECK_THAT(refusal("input: [7]\nparameters: {1a: 6}\nlayers: [{name: f, kind: act}]\n"),
             Catch::ContainsSubstring("m.yaml:4:14: '1a' is no name of a parameter"));
  const auto copies = [](const std::string& repeat) {
    return refusal("input: [7]\nlayers:\n  - " + repeat + "\n");
  };
  CHECK_THAT(copies("{repeat: 0, layers: [{name: f, kind: act}]}"),
             Catch::ContainsSubstring("'repeat' is '0'; expected a whole number, at least 1"));
  CHECK_THAT(copies("{repeat: 2, layers: []}"), Catch::ContainsSubstring("'layers' has no item"));
  CHECK_THAT(copies("{repeat: 2, layer: [{name: f, kind: act}]}"),
             Catch::ContainsSubstring("missing key 'layers'"));
  CHECK_THAT(copies("{repeat: 2, layers: [{name: f, kind: act}]}"),
             Catch::ContainsSubstring("layer 'f' stands twice"));
  CHECK_THAT(copies("{repeat: 2, layers: [{repeat: 2, layers: [{name: f, kind: act}]}]}"),
             Catch::ContainsSubstring("'i' has a meaning already"));
  CHECK_THAT(copies("{repeat: 1000, layers: [{repeat: 1000, as: j, layers: [{name: \"f{i}_{j}\", "
                    "kind: act}]}]}"),
             Catch::ContainsSubstring("more than 100000 layers"));
}

TEST_CASE("Attention of a model file has keys and values of whole heads", "[config][models]") {
  const auto told = [](const std::string& keys, const std::string& heads) {
    return refusal(
        "input: [8, 64]\nlayers:\n  - {name: q, kind: linear, out: 64}\n"
        "  - {name: k, kind: linear, out: " +
        keys + ", input: q}\n  - {name: v, kind: linear, out: " + keys +
        ", input: q}\n  - {name: a, kind: attention, heads: " + heads + ", inputs: [q, k, v]}\n");
  };
  CHECK(told("64", "4") == "accepted");
  CHECK(told("16", "4") == "accepted");
  CHECK_THAT(told("48", "4"), Catch::ContainsSubstring("a divisor of 4 heads of 16 features"));
  CHECK_THAT(told("8", "4"), Catch::ContainsSubstring("a divisor of 4 heads of 16 features"));
  CHECK_THAT(told("64", "5"), Catch::ContainsSubstring("5 heads do not divide 64 features"));
}
