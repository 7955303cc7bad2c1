#include "sim/models/model_table.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;

namespace {

// torchinfo's summary of a network with a shortcut convolution and a grouped one
constexpr const char* summary =
    "==================================================================================\n"    // 1
    "Layer (type (var_name):depth-idx)   Kernel Shape  Input Shape  Output Shape  Param #\n"  // 2
    "==================================================================================\n"    // 3
    "Net (Net)                           --     [4, 8, 28, 28]   [4, 10]           --\n"      // 4
    "├─Sequential (block): 1-1           --     [4, 8, 28, 28]   [4, 16, 14, 14]   --\n"      // 5
    "│    └─Conv2d (0): 2-1              [3, 3] [4, 8, 28, 28]   [4, 16, 14, 14]   1,152\n"   // 6
    "│    └─BatchNorm2d (1): 2-2         --     [4, 16, 14, 14]  [4, 16, 14, 14]   32\n"      // 7
    "├─Conv2d (grouped): 1-2             [5, 5] [4, 16, 14, 14]  [4, 32, 14, 14]   3,232\n"   // 8
    "├─Conv2d (shortcut): 1-3            [1, 1] [4, 8, 28, 28]   [4, 32, 14, 14]   256\n"     // 9
    "├─MaxPool2d (pool): 1-4             2      [4, 32, 14, 14]  [4, 32, 7, 7]     --\n"      // 10
    "├─Linear (fc): 1-5                  --     [4, 1568]        [4, 10]           15,690\n"  // 11
    "==================================================================================\n"    // 12
    "Total params: 20,362\n";

std::vector<LayerSpec> layers(const std::string& text) {
  return layers_of_table(read_model_table(text, "t.txt"), "t.txt");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string refusal(const std::string& text) {
  return test::refusal_of([&] { return layers(text); });
}

}  // namespace

TEST_CASE("torchinfo's tree becomes the layers without the containers", "[models]") {
  const ModelDescription model = build_layers("net", "test", {8, 28, 28}, layers(summary));
  std::vector<std::string> names;
  for (const ModelLayer& layer : model.layers) names.push_back(layer.name);
  CHECK(names ==
        std::vector<std::string>{"block.0", "block.1", "grouped", "shortcut", "pool", "fc"});
  // as the table counts: 1152 + 32 + 3232 + 256 + 15690
  CHECK(model.parameter_count() == 20'362);
}

TEST_CASE("Groups, bias and stride follow from a table's counts and shapes", "[models]") {
  const ModelDescription model = build_layers("net", "test", {8, 28, 28}, layers(summary));
  // 32 x 16 / 4 x 5 x 5 + 32 = 3232
  CHECK(test::layer(model, "grouped").convolution->groups == 4);
  CHECK(test::layer(model, "grouped").parameters.size() == 2);
  CHECK(test::layer(model, "grouped").convolution->stride == 1);
  // 16 x 8 x 3 x 3 = 1152
  CHECK(test::layer(model, "block.0").convolution->groups == 1);
  CHECK(test::layer(model, "block.0").parameters.size() == 1);
  CHECK(test::layer(model, "block.0").convolution->stride == 2);
  // 2 x 32 x 8 multiply-accumulates at each of 14 x 14 places, of the image, not of the layer
  // before
  CHECK(test::layer(model, "shortcut").forward.flops == 2.0 * 32 * 8 * 14 * 14);
}

TEST_CASE("A table without variable names or in ASCII is read the same way", "[models]") {
  const std::string plain =
      "Layer (type:depth-idx)    Kernel Shape  Input Shape  Output Shape  Param #\n"
      "Net                       --       [1, 8]     [1, 2]   --\n"
      "+ Sequential: 1-1         --       [1, 8]     [1, 4]   --\n"
      "|    + Linear: 2-1        --       [1, 8]     [1, 4]   36\n"
      "|    + ReLU: 2-2          --       [1, 4]     [1, 4]   --\n"
      "+ Linear: 1-2             --       [1, 4]     [1, 2]   8\n";
  const ModelDescription model = build_layers("net", "test", {8}, layers(plain));
  CHECK(model.layers.size() == 3);
  CHECK(model.layers.front().name == "Linear_2_1");
  CHECK(model.parameter_count() == 36 + 8);
}

TEST_CASE("CSV with ONNX's names becomes layers", "[models]") {
  const std::string csv =
      "name,op,input_shape,output_shape,kernel_shape,params\n"
      "c,Conv,\"[1, 3, 8, 8]\",\"[1, 4, 6, 6]\",3x3,112\n"
      "r,Relu,1x4x6x6,1x4x6x6,,0\n"
      "a,Add,1x4x6x6,1x4x6x6,,\n"
      "g,GlobalAveragePool,1x4x6x6,1x4x1x1,,\n"
      "f,Gemm,1x4,1x5,,25\n";
  const ModelDescription model = build_layers("net", "test", {3, 8, 8}, layers(csv));
  CHECK(model.parameter_count() == 4 * 3 * 9 + 4 + 4 * 5 + 5);
  CHECK(test::layer(model, "a").kind == "add");
  CHECK(test::layer(model, "a").forward.elements == 3 * 4 * 6 * 6);
}

TEST_CASE("A grid of tokens has its features last", "[models]") {
  const std::string csv =
      "name,kind,input,output,kernel,params\n"
      "p,Conv2d,1x3x8x8,1x16x4x4,2x2,208\n"
      "n,LayerNorm,1x4x4x16,1x4x4x16,,32\n"
      "f,Linear,1x4x4x16,1x4x4x64,,1088\n";
  const ModelDescription model = build_layers("net", "test", {3, 8, 8}, layers(csv));
  CHECK(model.parameter_count() == 208 + 32 + 1088);
  CHECK(test::layer(model, "p").convolution->stride == 2);
  CHECK(test::layer(model, "f").forward.flops == 2.0 * 16 * 16 * 64);
}

TEST_CASE("A row of excessive length is refused, however long", "[models]") {
  // A shape of 200 000 sides: 3 characters each but the last, in brackets and quotes, "c,Conv,"
  // before it and ",1x4,,0" behind it.
  std::string sides = "1";
  for (int side = 1; side < 200'000; ++side) sides += ", 1";
  CHECK(refusal("name,op,input,output,kernel,params\nc,Conv,\"[" + sides + "]\",1x4,,0\n") ==
        "t.txt:2:1: the row has 600016 characters; expected at most 1000");
  const std::string long_name(400'000, 'x');
  CHECK_THAT(refusal(replaced(summary, "MaxPool2d", long_name)),
             Catch::StartsWith("t.txt:10:1: the row has 400"));
}

TEST_CASE("A table that does not fit is refused at its row", "[models]") {
  CHECK_THAT(refusal(replaced(summary, "MaxPool2d", "MaxPool3d")),
             Catch::ContainsSubstring("t.txt:10:1: layer 'pool' is of type 'MaxPool3d', which is "
                                      "not known; expected one of AdaptiveAvgPool2d, Add, ") &&
                 Catch::ContainsSubstring("; did you mean 'MaxPool2d'?"));
  CHECK(refusal(replaced(summary, "3,232", "3,233")) ==
        "t.txt:8:1: layer 'grouped' has 3233 parameters; expected 32 x 16 x 25 / groups, and 32 "
        "more with a bias");
  CHECK(refusal(replaced(summary, "15,690", "15,691")) ==
        "t.txt:11:1: layer 'fc' has 15691 parameters; expected 1568 x 10, and 10 more with a bias");
  CHECK(refusal(replaced(summary, "[4, 1568]", "[5, 1568]")) ==
        "t.txt:11:1: the input of 'fc' is [5, 1568]; expected a batch of 4 and up to three sizes");
  CHECK(refusal(replaced(summary, "Input Shape", "Mult-Adds  ")) ==
        "t.txt:2:1: the table has no column of the input shape (torchinfo: input_size); expected "
        "input shape, output shape, kernel shape and parameters");
  CHECK(refusal(replaced(summary, " 32\n", " \n")) ==
        "t.txt:7:1: the row of 'BatchNorm2d' has 3 values behind its name; expected 4, one a "
        "column of the header");
  CHECK(refusal(replaced(summary, "1,152", "(recursive)")) ==
        "t.txt:6:1: a module runs twice and shares its tensors; expected each module once in an "
        "imported table: write the model as layers with 'tied_to' or 'kind: raw'");
  CHECK(refusal(replaced(summary, "14]   --", "14]   64")) ==
        "t.txt:5:1: the container 'Sequential' has tensors of its own; expected them in a layer: "
        "write the model with a layer of 'kind: raw'");
  CHECK(refusal("") ==
        "t.txt:1:1: the file is empty; expected a table of layers (torchinfo's text or CSV)");
  CHECK_THAT(refusal("name,kind,inputs,output,params\n"),
             Catch::ContainsSubstring("t.txt:1:1: no column is called 'inputs'") &&
                 Catch::ContainsSubstring("did you mean 'input'?"));
}
