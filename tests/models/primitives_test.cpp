#include "sim/models/primitives.hpp"

#include <algorithm>
#include <string>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

const ModelLayer& layer_named(const ModelDescription& model, const std::string& name) {
  return *std::ranges::find(model.layers, name, &ModelLayer::name);
}

ComputeProfile profile_of(const ModelDescription& model, const char* framework,
                          const char* optimizer) {
  AnalyticOptions options;
  options.framework = framework;
  options.optimizer = optimizer;
  return analytic_profile(config::shipped_hosts(), model, config::shipped_gpu("v100-sxm2-32gb", {}),
                          8, "fp32", options);
}

}  // namespace

TEST_CASE(
    "TensorFlow's graph runs BERT's norms, GELU, dropout, softmax, biases, heads as primitives",
    "[models][primitives]") {
  const ModelDescription model = by_primitives(bert_large({}));
  const std::string block = "bert.encoder.layer.7.";
  const double n = 128.0 * 1024;           // a token's width, for all tokens
  const double scores = 16 * 128.0 * 128;  // of all heads
  struct Row {
    const char* layer;
    double forward;   ///< elements
    double backward;  ///< elements
    int kernels;      ///< both passes
  };
  // What primitives.hpp counts. Dense: both operands 2 n and the bias's 2 n; backward twice 2 n and
  // the bias's gradient.
  const Row row = GENERATE_COPY(Row{"output.LayerNorm", 15 * n, 37 * n, 27},
                                Row{"intermediate.gelu", 18 * 4 * n, 26 * 4 * n, 18},
                                Row{"output.dropout", 10 * n, 5 * n, 7},
                                Row{"attention.self.softmax", 4 * scores, 9 * scores, 7},
                                Row{"attention.self.dropout", 10 * scores, 5 * scores, 7},
                                Row{"attention.self.merge_heads", 8 * n, 8 * n, 8},
                                Row{"attention.output.dense", 4 * n, 5 * n, 5});
  INFO(row.layer);
  const ModelLayer& layer = layer_named(model, block + row.layer);
  CHECK(layer.forward.elements == Approx(row.forward));
  CHECK(layer.backward.elements == Approx(row.backward));
  CHECK(layer.forward.kernels + layer.backward.kernels == row.kernels);
}

TEST_CASE("primitives move more and compute the same", "[models][primitives]") {
  const ModelDescription model = bert_base({});
  const ModelDescription graph = by_primitives(model);
  REQUIRE(graph.layers.size() == model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    INFO(model.layers[i].name);
    CHECK(graph.layers[i].forward.flops == model.layers[i].forward.flops);
    CHECK(graph.layers[i].backward.flops == model.layers[i].backward.flops);
    CHECK(graph.layers[i].forward.elements >= model.layers[i].forward.elements);
    CHECK(graph.layers[i].backward.elements >= model.layers[i].backward.elements);
  }
}

TEST_CASE("TensorFlow without XLA pays for primitives in BERT, and not in ResNet-50",
          "[models][primitives]") {
  const auto busy = [](const ModelDescription& model, const char* framework) {
    const ComputeProfile profile = profile_of(model, framework, "sgd");
    return (profile.forward() + profile.backward()).count();
  };
  CHECK(busy(bert_large({}), "tf") > 1.2 * busy(bert_large({}), "paddle"));
  // but for the linear layer's bias
  CHECK(busy(resnet50({}), "tf") == Approx(busy(resnet50({}), "paddle")).epsilon(1e-3));
}

TEST_CASE("AdamWeightDecay in TensorFlow's graph moves 168 bytes a parameter, Adam's kernel 28",
          "[models][primitives]") {
  CHECK(profile_of(bert_base({}), "tf", "adamw").optimizer_bytes_per_parameter == Bytes{168});
  CHECK(profile_of(bert_base({}), "tf", "adam").optimizer_bytes_per_parameter == Bytes{28});
}
