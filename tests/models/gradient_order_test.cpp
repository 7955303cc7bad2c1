#include <string>
#include <vector>

#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

using Names = std::vector<std::string>;

/// Names that begin with `prefix` and end in `suffix`, in `order`, without both.
Names part(const ModelDescription& model, const std::vector<TensorId>& order,
           const std::string& prefix, const std::string& suffix) {
  Names part;
  for (const std::string& name : test::names(model, order)) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    part.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  return part;
}

std::ptrdiff_t place(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) - names.begin();
}

ModelOptions aux() {
  ModelOptions options;
  options.head = "aux";
  return options;
}

}  // namespace

// Autograd runs the ready node with the highest sequence number (torch/csrc/autograd/engine.cpp,
// CompareNodeTaskTime); numbers count up in forward. A node is ready when those that read its
// result have run, and they were made after it: so the order is forward reversed. The recorded
// ResNets show it at their shortcuts (recorded_tensors_test.cpp). Below, the order in which the
// blocks' forward() calls their modules, read from the named implementation, reversed by hand.

TEST_CASE("Inception v3's branches become ready last called first", "[models]") {
  // torchvision inception.py, InceptionE.forward: branch1x1; branch3x3_1, _2a, _2b; dbl_1, _2, _3a,
  // _3b; branch_pool
  const Names expected = {"branch_pool",    "branch3x3dbl_3b", "branch3x3dbl_3a",
                          "branch3x3dbl_2", "branch3x3dbl_1",  "branch3x3_2b",
                          "branch3x3_2a",   "branch3x3_1",     "branch1x1"};
  const ModelDescription model = inception_v3({});
  CHECK(part(model, model.gradient_order, "Mixed_7c.", ".conv.weight") == expected);
  // registered in the order of __init__, which is that of forward()
  const Names registered(expected.rbegin(), expected.rend());
  CHECK(part(model, model.registration_order, "Mixed_7c.", ".conv.weight") == registered);
}

TEST_CASE("Inception v4's branches become ready last called first", "[models]") {
  // timm inception_v4.py, ReductionB.forward: branch0, branch1, branch2 (pooling)
  const ModelDescription model = inception_v4({});
  CHECK(part(model, model.gradient_order, "features.18.", ".conv.weight") ==
        std::vector<std::string>{"branch1.3", "branch1.2", "branch1.1", "branch1.0", "branch0.1",
                                 "branch0.0"});
  // Mixed5a: the convolution before the pooling; Mixed3a the other way round, with one convolution
  const auto at = [&model](const std::string& name) {
    return std::ranges::find(model.layers, name, &ModelLayer::name) - model.layers.begin();
  };
  CHECK(at("features.3.maxpool") < at("features.3.conv.conv"));
  CHECK(at("features.5.conv.conv") < at("features.5.maxpool"));
}

TEST_CASE("NASNet's first cells run the halved path first and register it second", "[models]") {
  // Cadene's nasnet.py: FirstCell.__init__ and forward()
  const ModelDescription model = nasnet_a_mobile({});
  const auto registered = test::names(model, model.registration_order);
  const auto ready = test::names(model, model.gradient_order);
  CHECK(place(registered, "cell_6.path_1.conv.weight") ==
        place(registered, "cell_6.conv_1x1.bn.bias") + 1);
  CHECK(place(ready, "cell_6.final_path_bn.weight") ==
        place(ready, "cell_6.conv_1x1.conv.weight") + 1);
}

TEST_CASE("A dense layer's second convolution is ready before its first", "[models]") {
  const ModelDescription model = densenet121({});
  const auto order = test::names(model, model.gradient_order);
  const std::string layer = "features.denseblock4.denselayer16.";
  const Names expected = {layer + "conv2.weight", layer + "norm2.weight", layer + "norm2.bias",
                          layer + "conv1.weight", layer + "norm1.weight", layer + "norm1.bias"};
  // classifier.bias, classifier.weight, features.norm5.weight, features.norm5.bias stand before
  CHECK(Names(order.begin() + 4, order.begin() + 10) == expected);
  CHECK(order.back() == "features.conv0.weight");
}

TEST_CASE("GoogLeNet's auxiliary heads run inside and are registered at the end", "[models]") {
  // googlenet.py: aux1 is called behind inception4a, aux2 behind inception4d; __init__ has them
  // between inception5b and fc
  const ModelDescription model = googlenet(aux());
  const auto ready = test::names(model, model.gradient_order);
  // behind it: two linear layers with weight and bias, two tensors of the norm, the convolution
  CHECK(place(ready, "aux2.conv.conv.weight") ==
        place(ready, "inception4e.branch1.conv.weight") + 7);
  CHECK(place(ready, "inception4d.branch4.1.bn.weight") ==
        place(ready, "aux2.conv.conv.weight") + 1);
  CHECK(place(ready, "inception4a.branch4.1.bn.weight") ==
        place(ready, "aux1.conv.conv.weight") + 1);
  const auto registered = test::names(model, model.registration_order);
  CHECK(place(registered, "aux1.conv.conv.weight") ==
        place(registered, "inception5b.branch4.1.bn.bias") + 1);
  CHECK(registered.back() == "fc.bias");
  CHECK(place(registered, "fc.weight") == place(registered, "aux2.fc2.bias") + 1);
}

TEST_CASE("A tied table is ready last, an untied head first", "[models]") {
  ModelOptions untied;
  untied.tied = false;
  const auto first = [](const ModelDescription& model) {
    return test::names(model, model.gradient_order).front();
  };
  const auto last = [](const ModelDescription& model) {
    return test::names(model, model.gradient_order).back();
  };
  CHECK(last(gpt2({})) == "transformer.wte.weight");
  CHECK(first(gpt2({})) == "transformer.ln_f.weight");
  CHECK(first(gpt2(untied)) == "lm_head.weight");
  CHECK(last(bert_large({})) == "bert.embeddings.word_embeddings.weight");
  CHECK(last(transformer_wmt({})) == "encoder.embed_tokens.weight");
  CHECK(first(transformer_wmt(untied)) == "decoder.output_projection.weight");
  CHECK(first(lstm_ptb({})) == "decoder.bias");
}

TEST_CASE("The table that is a decoder's weight as well is marked, and nothing else", "[models]") {
  const auto shared = [](const ModelDescription& model) {
    Names names;
    for (const ParameterSpec& parameter : test::parameters(model)) {
      if (parameter.shared) names.push_back(parameter.name);
    }
    return names;
  };
  ModelOptions untied;
  untied.tied = false;
  CHECK(shared(gpt2({})) == Names{"transformer.wte.weight"});
  CHECK(shared(gpt2(untied)).empty());
  CHECK(shared(bert_large({})) == Names{"bert.embeddings.word_embeddings.weight"});
  CHECK(shared(transformer_wmt({})) == Names{"encoder.embed_tokens.weight"});
  CHECK(shared(lstm_ptb({})).empty());
}

TEST_CASE("BERT's decoder bias is registered before the transform and ready before it",
          "[models]") {
  // BertLMPredictionHead: transform, decoder, bias; a module's own tensors come before its
  // children's
  const ModelDescription model = bert_base({});
  const auto registered = test::names(model, model.registration_order);
  CHECK(place(registered, "cls.predictions.bias") + 1 ==
        place(registered, "cls.predictions.transform.dense.weight"));
  const auto ready = test::names(model, model.gradient_order);
  CHECK(Names(ready.begin(), ready.begin() + 4) ==
        std::vector<std::string>{"cls.seq_relationship.bias", "cls.seq_relationship.weight",
                                 "cls.predictions.bias",
                                 "cls.predictions.transform.LayerNorm.weight"});
}

TEST_CASE("fairseq's attention registers key, value, query and runs query, key, value",
          "[models]") {
  const ModelDescription model = transformer_wmt({});
  const std::string name = "decoder.layers.3.encoder_attn.";
  CHECK(part(model, model.registration_order, name, ".weight") ==
        std::vector<std::string>{"k_proj", "v_proj", "q_proj", "out_proj"});
  CHECK(part(model, model.gradient_order, name, ".weight") ==
        std::vector<std::string>{"out_proj", "v_proj", "k_proj", "q_proj"});
}
