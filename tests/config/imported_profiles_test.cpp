#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::config {
namespace {

const std::filesystem::path root = GRADWIRE_SOURCE_DIR;

ComputeProfile shipped(const std::string& name) {
  return read_profile(load_yaml((root / "profiles" / (name + ".yaml")).string()));
}

TEST_CASE("Every ResNet-50 has the same tensors in the same gradient order", "[config][profile]") {
  const auto recorded = shipped("resnet50/v100-sxm2-32gb_fp32_b32");
  const auto other =
      shipped(GENERATE("resnet50/a100-sxm4-40gb_tf32_b32", "resnet50/h100-sxm5-80gb_tf32_b128"));
  const auto expected = tensors_of(recorded);
  const auto tensors = tensors_of(other);
  REQUIRE(tensors.size() == expected.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(tensors[i].name == expected[i].name);
    CHECK(tensors[i].elements == expected[i].elements);
  }
  CHECK(other.gradient_order == recorded.gradient_order);
}

TEST_CASE("The imported profiles add up to what their traces say", "[config][profile]") {
  // A100: the sums of the trace's layers, 12.518 and 25.154 ms.
  const auto a100 = shipped("resnet50/a100-sxm4-40gb_tf32_b32");
  CHECK(a100.forward() / Seconds{12.518e-3} == Approx(1).epsilon(1e-4));
  CHECK(a100.backward() / Seconds{25.154e-3} == Approx(1).epsilon(1e-4));
  // H100: TrioSim's own total of the operators, 70.723 ms (1810 images/s), and VGG-13's 94.038 ms.
  const auto h100 = shipped("resnet50/h100-sxm5-80gb_tf32_b128");
  CHECK((h100.forward() + h100.backward() + h100.optimizer) / Seconds{70.723e-3} ==
        Approx(1).epsilon(1e-6));
  const auto vgg = shipped("vgg13/h100-sxm5-80gb_tf32_b128");
  CHECK((vgg.forward() + vgg.backward() + vgg.optimizer) / Seconds{94.038e-3} ==
        Approx(1).epsilon(1e-6));
  // torchvision's vgg13
  CHECK(vgg.parameter_count() == 133'047'848);
}

TEST_CASE("B-Caffe's GoogLeNet is a shape with the log's parameters and backward",
          "[config][profile]") {
  // hclhkbu/B-Caffe, logdata/tmp2comm.log: 13 379 136 parameters, 200.329 ms; one node's iteration
  // in the plotting script of MG-WFBP is 391.77 ms.
  const auto profile = shipped("googlenet/bcaffe");
  CHECK(profile.is_shape());
  CHECK(profile.parameter_count() == 13'379'136);
  CHECK(profile.backward() / Seconds{200.329e-3} == Approx(1).epsilon(1e-4));
  CHECK(profile.iteration / Seconds{391.77e-3} == Approx(1).epsilon(1e-4));
}

/// A shipped shape, its table beside the repository, and the parameters of the table's model.
struct Shape {
  const char* name;
  const char* table;
  std::int64_t parameters;
};
// Published counts; BERT's are those of the encoder without its pooler (109482240 - 590592 and
// 335141888 - 1049600) plus a span head of 2 x (width + 1)
// and 6 words that pad the vocabulary to 30528.
constexpr std::array<Shape, 9> shapes = {
    {{"vgg16/espresso", "vgg16", 138'357'544},
     {"resnet50/espresso", "resnet50", 25'557'032},
     {"resnet101/espresso", "resnet101", 44'549'160},
     {"gpt2/espresso", "gpt2", 124'439'808},
     {"bert_base/espresso", "bert", 109'482'240 - 590'592 + 2 * 769 + 6 * 768},
     {"bert_large/espresso", "bert_large", 335'141'888 - 1'049'600 + 2 * 1025 + 6 * 1024},
     {"lstm_wikitext2/espresso", "lstm", 85'974'278},
     {"ugatit/espresso", "ugatit", 670'761'088},
     {"ncf/espresso", "ncf", 178'064'769}}};

TEST_CASE("A shape has its model's parameters and states no GPU", "[config][profile]") {
  for (const Shape& shape : shapes) {
    CAPTURE(shape.name);
    const auto profile = shipped(shape.name);
    CHECK(profile.is_shape());
    CHECK(profile.parameter_count() == shape.parameters);
    CHECK(profile.iteration == profile.forward() + profile.backward());
  }
}

/// Tensor -> microseconds from the first gradient on, of a table order,tensor,elements,gap,ready.
std::map<std::string, double> ready_times(const std::filesystem::path& file) {
  std::map<std::string, double> times;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::array<std::string, 5> cell;
    for (auto& text : cell) std::getline(cells, text, ',');
    times[cell[1]] = std::stod(cell[4]);
  }
  return times;
}

TEST_CASE("A shape's gradients are ready when its table says, at the end of their layer",
          "[config][profile]") {
  const auto folder = test::shared("data/layer_profiles");
  if (test::skipped_without(folder)) return;
  for (const Shape& shape : shapes) {
    CAPTURE(shape.name);
    const auto profile = shipped(shape.name);
    const auto tensors = tensors_of(profile);
    const auto times = ready_times(folder / (std::string("espresso_") + shape.table + ".csv"));
    CHECK(times.size() == tensors.size());
    const auto gradients = gradients_by_layer(profile);
    double now = 0;
    for (std::size_t layer = profile.layers.size(); layer-- > 0;) {
      now += 1e6 * profile.layers[layer].backward.count();
      double last = 0;
      for (const TensorId id : gradients[layer]) {
        last = std::max(last, times.at(tensors[static_cast<std::size_t>(id)].name));
      }
      CHECK(now == Approx(last).margin(0.5));
    }
  }
}

}  // namespace
}  // namespace gradwire::config
