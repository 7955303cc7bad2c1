#include <string>

#include "sim/config/check.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/models/image_models.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;

namespace {

constexpr const char* head =
    "schema: gradwire.model/1\n"
    "name: small\n"
    "input: [3, 32, 32]\n"
    "layers:\n";

ModelDescription read(const std::string& layers) {
  return config::read_model_file(config::parse_yaml(head + layers, "m.yaml"));
}

std::string refusal(const std::string& layers) {
  return test::refusal_of([&] { return read(layers); });
}

const ModelLayer& layer(const ModelDescription& model, const std::string& name) {
  return *std::ranges::find(model.layers, name, &ModelLayer::name);
}

}  // namespace

TEST_CASE("Layers of a file get the work and the tensors of a built-in model's", "[models]") {
  // the beginning of ResNet-50, and its first block without the shortcut's convolution
  const ModelDescription model = config::read_model_file(config::parse_yaml(
      "schema: gradwire.model/1\n"
      "name: resnet\n"
      "input: [3, 224, 224]\n"
      "layers:\n"
      "  - {name: conv1, kind: conv, out: 64, kernel: 7, stride: 2, padding: 3, bias: false}\n"
      "  - {name: bn1, kind: batch_norm}\n"
      "  - {name: relu, kind: act}\n"
      "  - {name: maxpool, kind: max_pool, kernel: 3, stride: 2, padding: 1}\n",
      "m.yaml"));
  const ModelDescription whole = resnet50({});
  REQUIRE(model.layers.size() == 4);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ModelLayer& ours = model.layers[i];
    const ModelLayer& theirs = layer(whole, ours.name);
    CAPTURE(ours.name);
    CHECK(ours.kind == theirs.kind);
    CHECK(ours.forward.flops == theirs.forward.flops);
    CHECK(ours.forward.elements == theirs.forward.elements);
    CHECK(ours.backward.flops == theirs.backward.flops);
    CHECK(ours.backward.elements == theirs.backward.elements);
    REQUIRE(ours.parameters.size() == theirs.parameters.size());
    for (std::size_t t = 0; t < ours.parameters.size(); ++t) {
      CHECK(ours.parameters[t].name == theirs.parameters[t].name);
      CHECK(ours.parameters[t].shape == theirs.parameters[t].shape);
    }
  }
}

TEST_CASE("A file's branches join, and their gradients are summed", "[models]") {
  const ModelDescription model = read(
      "  - {name: a, kind: conv, out: 8, kernel: 3, padding: 1}\n"
      "  - {name: b, kind: conv, out: 8, kernel: [1, 3], padding: [0, 1]}\n"
      "  - {name: sum, kind: add, inputs: [a, b]}\n"
      "  - {name: both, kind: concat, inputs: [sum, a]}\n"
      "  - {name: pool, kind: adaptive_pool}\n"
      "  - {name: flat, kind: flatten}\n"
      "  - {name: fc, kind: linear, out: 10, bias: false}\n");
  // 3 x 3 x 3 x 8 + 8, 1 x 3 x 8 x 8 + 8, 16 x 10
  CHECK(model.parameter_count() == 216 + 8 + 192 + 8 + 160);
  // `a` is read by b, sum, both: all but the last add its 8 x 32 x 32 gradients
  CHECK(layer(model, "b.grad_sum").backward.elements == 3 * 8 * 32 * 32);
  CHECK(layer(model, "sum.grad_sum").backward.elements == 3 * 8 * 32 * 32);
  CHECK(std::ranges::count(model.layers, "both.grad_sum", &ModelLayer::name) == 0);
}

TEST_CASE("A file may tie a table and give raw work", "[models]") {
  const ModelDescription model = config::read_model_file(config::parse_yaml(
      "schema: gradwire.model/1\n"
      "name: language\n"
      "input: [16]\n"
      "layers:\n"
      "  - {name: words, kind: embedding, rows: 100, out: 8}\n"
      "  - name: mixer\n"
      "    kind: raw\n"
      "    work: linear\n"
      "    forward: {flops: 1e6, elements: 2000, kernels: 3}\n"
      "    backward: {flops: 2e6, elements: 4000, kernels: 6}\n"
      "    parameters: [{name: mixer.w, shape: [8, 8]}]\n"
      "  - {name: scores, kind: product, inputs: [words, mixer],\n"
      "     product: {rows: 16, columns: 16, depth: 8}}\n"
      "  - {name: out, kind: linear, input: mixer, out: 100, bias: false, tied_to: words}\n",
      "m.yaml"));
  CHECK(model.parameter_count() == 100 * 8 + 8 * 8);
  CHECK(model.gradient_order == std::vector<TensorId>{1, 0});  // the table last
  CHECK(layer(model, "mixer").backward.kernels == 6);
  CHECK(layer(model, "scores").forward.flops == 2 * 16 * 16 * 8);
}

TEST_CASE("A layer that does not fit is refused where it stands", "[models]") {
  CHECK(refusal("  - {name: a, kind: conv, out: 8, kernel: 33}\n") ==
        "m.yaml:5:43: a kernel of 33 x 33 does not fit its input of 32 x 32 with a padding of 0 x "
        "0; expected a smaller one");
  CHECK(refusal("  - {name: a, kind: conv, out: 8, kernel: 3, groups: 2}\n") ==
        "m.yaml:5:54: 2 groups do not divide 3 input and 8 output channels; expected a divisor of "
        "both");
  CHECK(refusal("  - {name: a, kind: conv, out: 8, kernel: 3}\n"
                "  - {name: b, kind: conv, out: 8, kernel: 3}\n"
                "  - {name: c, kind: add, inputs: [a, b]}\n") ==
        "m.yaml:7:34: 'c' adds 8 x 30 x 30 and 8 x 28 x 28; expected equal shapes");
  CHECK(refusal("  - {name: conv1, kind: act}\n  - {name: b, kind: act, input: conv2}\n") ==
        "m.yaml:6:5: no layer 'conv2' stands before this one; expected the name of an earlier "
        "layer; did you mean 'conv1'?");
  CHECK(refusal("  - {name: a, kind: act}\n  - {name: a, kind: act}\n") ==
        "m.yaml:6:12: layer 'a' stands twice; expected each name once");
  CHECK(refusal("  - {name: a, kind: act, output: [3, 16, 16]}\n") ==
        "m.yaml:5:34: 'a' gives 3 x 32 x 32, not 3 x 16 x 16; expected the shape that its kind, "
        "kernel, stride and padding give");
  CHECK(refusal("  - {name: a, kind: linear, out: 5, tied_to: words}\n") ==
        "m.yaml:5:46: no embedding 'words' stands before this layer; expected the name of one");
}

TEST_CASE("A key that the layer's kind does not have is refused", "[models]") {
  CHECK_THAT(
      refusal("  - {name: a, kind: act, kernel: 3}\n"),
      Catch::ContainsSubstring(
          "m.yaml:5:26: unknown key 'kernel'; expected one of name, kind, input, inputs, output"));
  CHECK_THAT(
      refusal("  - {name: a, kind: convolution, out: 3}\n"),
      Catch::ContainsSubstring("m.yaml:5:21: 'kind' is 'convolution'; expected one of conv"));
  CHECK_THAT(
      refusal("  - {name: a, kind: conv, out: 0, kernel: 3}\n"),
      Catch::ContainsSubstring("m.yaml:5:32: 'out' is '0'; expected a whole number, at least 1"));
  CHECK_THAT(refusal("  - {name: a, kind: conv, out: 8, kernel: 3 px}\n"),
             Catch::ContainsSubstring("m.yaml:5:43: 'kernel' is '3 px'"));
}

TEST_CASE("What is written is read as the same model", "[models]") {
  config::ModelFile file;
  file.name = "it's";
  file.source = "a test";
  file.input = {3, 16, 16};
  LayerSpec conv;
  conv.name = "conv: 1";
  conv.kind = "conv";
  conv.out = 6;
  conv.kernel = {3, 5};
  conv.stride = 2;
  conv.padding = Window{1, 2};
  conv.groups = 3;
  conv.bias = false;
  LayerSpec raw;
  raw.name = "raw";
  raw.kind = "raw";
  raw.work_kind = "other";
  raw.forward = {.flops = 1.5e9, .elements = 10, .kernels = 2};
  raw.parameters = {{.name = "raw.w", .shape = {2, 3}, .ready = {}}};
  file.layers = {conv, raw};
  const std::string text = config::write_model_file(file, {});
  const ModelDescription model = config::read_model_file(config::parse_yaml(text, "m.yaml"));
  const ModelDescription direct = build_layers(file.name, file.source, file.input, file.layers);
  CHECK(model.name == direct.name);
  CHECK(model.source == direct.source);
  REQUIRE(model.layers.size() == 2);
  CHECK(model.parameter_count() == 6 * 1 * 3 * 5 + 2 * 3);
  CHECK(model.layers[0].forward.flops == direct.layers[0].forward.flops);
  CHECK(model.layers[1].forward.flops == 1.5e9);
  CHECK(model.layers[1].forward.kernels == 2);
}

TEST_CASE("'gradwire check' knows a model's file", "[models]") {
  const ConfigFixture files;
  config::check_file(files.write(head + std::string("  - {name: a, kind: act}\n")));
  CHECK_THROWS_WITH(
      config::check_file(files.write(head + std::string("  - {name: a, kind: akt}\n"))),
      Catch::ContainsSubstring("did you mean 'act'?"));
}
