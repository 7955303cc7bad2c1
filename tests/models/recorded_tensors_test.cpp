#include <string>

#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;

namespace {

/// The file's name for a tensor of ours: its BERT fuses the activation into the dense layer.
std::string nvidia_name(std::string name) {
  const std::string ours = "intermediate.dense.";
  const auto at = name.find(ours);
  return at == std::string::npos ? name : name.replace(at, ours.size(), "intermediate.dense_act.");
}

ComputeProfile recorded_profile(const std::string& model) {
  const std::string file =
      GRADWIRE_SOURCE_DIR "/profiles/" + model + "/v100-sxm2-32gb_fp32_b32.yaml";
  return config::read_profile(config::load_yaml(file));
}

/// Names, shapes, buffers and both orders.
void check_tensors(const ComputeProfile& recorded, const ModelDescription& model) {
  const auto ours = test::parameters(model);
  std::size_t at = 0;
  for (const LayerProfile& layer : recorded.layers) {
    for (const ParameterSpec& parameter : layer.parameters) {
      REQUIRE(at < ours.size());
      CHECK(ours[at].name == parameter.name);
      CHECK(ours[at].shape == parameter.shape);
      CHECK(model.registration_order.at(at) == static_cast<TensorId>(at));
      ++at;
    }
  }
  CHECK(at == ours.size());
  CHECK(model.gradient_order == recorded.gradient_order);
  CHECK(model.buffers == recorded.buffers);
  CHECK(model.buffer_elements == recorded.buffer_elements);
}

void check_recorded(const std::string& file, const ModelDescription& model) {
  const auto path = test::recorded_tensors(file);
  if (!std::filesystem::exists(path)) {
    WARN("not here: " << path);
    return;
  }
  const auto rows = test::read_recorded(path);
  const auto all = test::parameters(model);
  REQUIRE(model.gradient_order.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& tensor = all.at(static_cast<std::size_t>(model.gradient_order[i]));
    CAPTURE(i, rows[i].first);
    CHECK(nvidia_name(tensor.name) == rows[i].first);
    CHECK(tensor.elements() == rows[i].second);
  }
}

}  // namespace

TEST_CASE("Tensors are those of the recorded profiles: names, shapes, both orders", "[models]") {
  check_tensors(recorded_profile("resnet50"), resnet50({}));
  check_tensors(recorded_profile("resnext50_32x4d"), resnext50_32x4d({}));
}

TEST_CASE("The recorded ResNet-50 has the same operators and FLOPs", "[models]") {
  const ComputeProfile recorded = recorded_profile("resnet50");
  const ModelDescription model = resnet50({});
  std::vector<ModelLayer> ours = model.layers;
  std::erase_if(ours, [](const ModelLayer& layer) { return layer.name.ends_with(".grad_sum"); });
  std::vector<LayerProfile> theirs = recorded.layers;
  std::erase_if(theirs, [](const LayerProfile& layer) { return layer.name == "flatten"; });
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CHECK(ours[i].name == theirs[i].name);
    CHECK(ours[i].kind == theirs[i].kind);
    CHECK(ours[i].forward.flops * recorded.batch_per_gpu == Approx(theirs[i].flops).epsilon(1e-6));
  }
}

TEST_CASE("Gradients become ready in the order that was recorded, tensor by tensor", "[models]") {
  SECTION("ResNet-50") {
    check_recorded("resnet50", resnet50({}));
  }
  SECTION("ResNet-101") {
    check_recorded("resnet101", resnet101({}));
  }
  SECTION("VGG-16") {
    check_recorded("vgg16", vgg16({}));
  }
  // SQuAD, without pooler; the vocabulary is padded to a multiple of 8
  ModelOptions squad;
  squad.head = "qa";
  squad.vocabulary = 30528;
  SECTION("BERT-Base") {
    check_recorded("bert", bert_base(squad));
  }
  SECTION("BERT-Large") {
    check_recorded("bert_large", bert_large(squad));
  }
}
