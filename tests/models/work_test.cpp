#include "sim/models/bert.hpp"
#include "sim/models/resnet.hpp"
#include "sim/models/vgg.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

TEST_CASE("Parameter counts are the published ones", "[models]") {
  // torchvision, "num_params" of each model's weights
  CHECK(resnet50({}).parameter_count() == 25'557'032);
  CHECK(resnet101({}).parameter_count() == 44'549'160);
  CHECK(resnet152({}).parameter_count() == 60'192'808);
  CHECK(resnext50_32x4d({}).parameter_count() == 25'028'904);
  CHECK(resnext101_32x8d({}).parameter_count() == 88'791'336);
  CHECK(vgg16({}).parameter_count() == 138'357'544);
  CHECK(vgg19({}).parameter_count() == 143'667'240);
}

TEST_CASE("BERT's parameter counts follow its head", "[models]") {
  const auto count = [](ModelDescription (*make)(const ModelOptions&), const char* head) {
    ModelOptions options;
    options.head = head;
    return make(options).parameter_count();
  };
  // encoder and pooler: bert-base-uncased and bert-large-uncased of HuggingFace
  CHECK(count(bert_base, "none") == 109'482'240);
  CHECK(count(bert_large, "none") == 335'141'888);
  // + decoder bias (vocabulary) + transform (h^2 + h) + its norm (2 h) + next sentence (2 h + 2)
  CHECK(count(bert_base, "pretraining") == 109'482'240 + 30522 + 768 * 769 + 2 * 768 + 2 * 768 + 2);
  CHECK(count(bert_large, "pretraining") ==
        335'141'888 + 30522 + 1024 * 1025 + 2 * 1024 + 2 * 1024 + 2);
  // without the pooler (h^2 + h) and the next sentence
  CHECK(count(bert_base, "mlm") == 109'482'240 - 768 * 769 + 30522 + 768 * 769 + 2 * 768);
}

TEST_CASE("Forward GFLOP of a sample are those of the definition", "[models]") {
  // 2 x multiply-accumulates of convolutions and matrix products, one sample
  CHECK(test::forward_gflop(resnet50({})) == Approx(8.18).epsilon(1e-3));
  CHECK(test::forward_gflop(resnet152({})) == Approx(23.03).epsilon(1e-3));
  CHECK(test::forward_gflop(vgg16({})) == Approx(30.94).epsilon(1e-3));
  CHECK(test::forward_gflop(bert_base({})) == Approx(23.31).epsilon(1e-3));
  CHECK(test::forward_gflop(bert_large({})) == Approx(80.21).epsilon(1e-3));
  ModelOptions long_sequence;
  long_sequence.sequence_length = 512;
  CHECK(test::forward_gflop(bert_large(long_sequence)) == Approx(339.9).epsilon(1e-3));
}
