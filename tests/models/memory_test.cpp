#include "sim/models/memory.hpp"

#include "sim/models/resnet.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("Training keeps the model's state, and what layers with weights have read", "[models]") {
  ModelDescription model;
  model.layers.resize(2);
  model.layers[0].kind = "conv1";
  model.layers[0].forward.elements = 10;
  model.layers[1].kind = "act";
  model.layers[1].forward.elements = 8;
  CHECK(training_memory(model, 3, "fp32") == Approx(3 * 4 * 5));
  CHECK(training_memory(model, 3, "bf16") == Approx(3 * 2 * 5));
}

TEST_CASE("ResNet-50 trains with 64 images in 12 GB, not with 256", "[models]") {
  // tensorflow/benchmarks: 64 a GPU on a K80 (12 GB), README "--batch_size=64".
  const ModelDescription model = resnet50({});
  CHECK(training_memory(model, 64, "fp32") < 12e9);
  CHECK(training_memory(model, 256, "fp32") > 12e9);
}
