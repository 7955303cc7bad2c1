#include <cmath>
#include <cstdint>
#include <set>

#include "sim/config/profile/model_catalogue.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

std::int64_t count(const std::string& name, const ModelOptions& options = {}) {
  const auto& catalogue = config::model_catalogue();
  return std::ranges::find(catalogue, name, &config::ModelEntry::name)
      ->make(options)
      .parameter_count();
}

ModelOptions with_head(const char* head) {
  ModelOptions options;
  options.head = head;
  return options;
}

ModelOptions untied() {
  ModelOptions options;
  options.tied = false;
  return options;
}

}  // namespace

TEST_CASE("Parameter counts are the published ones", "[models]") {
  struct Published {
    const char* name;
    std::int64_t parameters;
  };
  // torchvision, "num_params" of each model's weights; inception_v4: timm's table of results;
  // SE-ResNeXt and Xception: Cadene's pretrained-models.pytorch; MobileNet v1: Keras, trainable
  // ones, and NASNet, as Cadene's; GPT-2: the checkpoints of HuggingFace
  const auto published = GENERATE(
      Published{"resnet50", 25'557'032}, Published{"resnet101", 44'549'160},
      Published{"resnet152", 60'192'808}, Published{"resnext50_32x4d", 25'028'904},
      Published{"resnet18", 11'689'512}, Published{"resnet34", 21'797'672},
      Published{"wide_resnet50_2", 68'883'240}, Published{"resnext101_32x4d", 44'177'704},
      Published{"se_resnext101_32x4d", 48'955'416}, Published{"resnext101_32x8d", 88'791'336},
      Published{"vgg11", 132'863'336}, Published{"vgg13", 133'047'848},
      Published{"vgg16", 138'357'544}, Published{"vgg19", 143'667'240},
      Published{"alexnet", 61'100'840}, Published{"googlenet", 6'624'904},
      Published{"densenet121", 7'978'856}, Published{"densenet161", 28'681'000},
      Published{"densenet201", 20'013'928}, Published{"inception_v4", 42'679'816},
      Published{"xception", 22'855'952}, Published{"nasnet_a_large", 88'753'150},
      Published{"nasnet_a_mobile", 5'289'978}, Published{"mobilenet_v1", 4'231'976},
      Published{"mobilenet_v2", 3'504'872}, Published{"mobilenet_v3_large", 5'483'032},
      Published{"mobilenet_v3_small", 2'542'856}, Published{"efficientnet_b0", 5'288'548},
      Published{"efficientnet_b4", 19'341'616}, Published{"efficientnet_v2_s", 21'458'488},
      Published{"vit_s_16", 22'050'664}, Published{"sd_unet", 859'520'964},
      Published{"roberta_base", 124'697'433}, Published{"roberta_large", 355'412'057},
      Published{"bart_base", 139'420'416}, Published{"bart_large", 406'291'456},
      Published{"t5_small", 60'506'624}, Published{"t5_base", 222'903'552},
      Published{"t5_large", 737'668'096}, Published{"vit_b_16", 86'567'656},
      Published{"vit_l_16", 304'326'632}, Published{"vit_h_14", 632'045'800},
      Published{"swin_t", 28'288'354}, Published{"swin_s", 49'606'258},
      Published{"swin_b", 87'768'224}, Published{"convnext_tiny", 28'589'128},
      Published{"convnext_base", 88'591'464}, Published{"gpt2", 124'439'808},
      Published{"gpt2_medium", 354'823'168}, Published{"gpt2_large", 774'030'080},
      Published{"gpt2_xl", 1'557'611'200});
  CAPTURE(published.name);
  CHECK(count(published.name) == published.parameters);
}

TEST_CASE("ResNet v2 has the norms of its blocks' inputs, and none in shortcuts", "[models]") {
  // v1's norms: 64 behind the stem, 2 w + 4 w a block, 4 w a shortcut; v2's: the block's input and
  // 2 w a block, 2048 at the end. Stages of 3, 4, 6, 3 blocks, w = 64, 128, 256, 512: 26560 and
  // 22720 channels of two tensors; timm's table has 25.55 M, 44.54 M and 60.19 M
  const std::int64_t fewer = 2 * (26'560 - 22'720);
  CHECK(count("resnet50_v2") == 25'557'032 - fewer);
  CHECK(count("resnet101_v2") == 44'549'160 - fewer);
  CHECK(count("resnet152_v2") == 60'192'808 - fewer);
}

TEST_CASE("The networks for CIFAR-10 have the published counts", "[models]") {
  // He et al., table 6: 0.27 M, 0.85 M, 1.7 M. With n blocks a stage: the stem 3 x 16 x 9; 2 n
  // convolutions of 16, 2 n - 1 of 32 and of 64 squared, 16 x 32 and 32 x 64 to get there, all x 9;
  // two numbers a channel of a norm, 16 + 2 n (16 + 32 + 64) of them; 65 x 10
  const auto equation = [](std::int64_t n) {
    const std::int64_t weights =
        9 * (3 * 16 + 2 * n * 256 + 512 + (2 * n - 1) * 1024 + 2048 + (2 * n - 1) * 4096);
    return weights + 2 * (16 + 2 * n * 112) + 650;
  };
  CHECK(count("resnet20") == equation(3));
  CHECK(count("resnet20") == 269'722);
  CHECK(count("resnet56") == equation(9));
  CHECK(count("resnet110") == equation(18));
  // ImageNet's ResNet-18 (torchvision) with 9 in place of 49 weights a filter of the stem, and a
  // classifier of 10 in place of 1000
  CHECK(count("resnet18_cifar") == 11'689'512 - 40 * 3 * 64 - 513 * 990);
  CHECK(count("resnet18_cifar") == 11'173'962);
  // WRN-28-10 (Zagoruyko and Komodakis, table 1: 36.5 M): four blocks of widths w = 160, 320, 640;
  // convolutions 9 i w + 7 x 9 w^2 and a shortcut i w from i = 16, 160, 320; norms, two numbers a
  // channel, of i and seven times w; the last norm and 641 x 10
  std::int64_t wide = 9 * 3 * 16 + 2 * 640 + 6410;
  for (const auto& [i, w] : {std::pair{16, 160}, std::pair{160, 320}, std::pair{320, 640}}) {
    wide += 10 * i * w + 63 * w * w + 2 * (i + 7 * w);
  }
  CHECK(count("wide_resnet28_10") == wide);
  CHECK(wide == 36'479'194);
  // VGG-16's convolutions with biases, 14,714,688 (torchvision's vgg16 less its three linear layers
  // of 25088 x 4096, 4096 x 4096 and 4096 x 1000), 4224 channels of norms, 513 x 10
  const std::int64_t convolutions = 138'357'544 - 4096 * (25'089 + 4097) - 1000 * 4097;
  CHECK(count("vgg16_cifar") == convolutions + 2 * 4224 + 5130);
  CHECK(count("vgg16_cifar") == 14'728'266);
}

TEST_CASE("The auxiliary classifiers make the other published count", "[models]") {
  // GoogLeNet twice: 1x1 convolution, its norm, 2048 x 1024 and 1024 x 1000 with biases
  CHECK(count("googlenet", with_head("aux")) ==
        6'624'904 + 128 * (512 + 528) + 2 * (2 * 128 + 2049 * 1024 + 1025 * 1000));
  CHECK(count("googlenet", with_head("aux")) == 13'004'888);
  CHECK(count("inception_v3", with_head("main")) == 23'834'568);  // timm
  CHECK(count("inception_v3", with_head("aux")) == 27'161'264);   // torchvision
}

TEST_CASE("BERT's parameter counts follow its head", "[models]") {
  // encoder and pooler: bert-base-uncased and bert-large-uncased of HuggingFace
  CHECK(count("bert_base", with_head("none")) == 109'482'240);
  CHECK(count("bert_large", with_head("none")) == 335'141'888);
  // + decoder bias (vocabulary) + transform (h^2 + h) + its norm (2 h) + next sentence (2 h + 2)
  const std::int64_t base = 109'482'240 + 30'522 + 768 * 769 + 2 * 768 + 2 * 768 + 2;
  const std::int64_t large = 335'141'888 + 30'522 + 1024 * 1025 + 2 * 1024 + 2 * 1024 + 2;
  CHECK(count("bert_base") == base);
  CHECK(count("bert_large") == large);
  CHECK(count("bert_large", with_head("pretraining_all_positions")) == large);
  CHECK(count("bert_base", with_head("mlm")) == base - 768 * 769 - (2 * 768 + 2));
  CHECK(count("bert_base", with_head("qa")) == 109'482'240 - 768 * 769 + 2 * 768 + 2);
  CHECK(count("bert_base", with_head("classification")) == 109'482'240 + 2 * 768 + 2);
  // a decoder of its own
  CHECK(count("bert_base", untied()) == base + 30'522 * 768);
}

TEST_CASE("DistilBERT's parameter counts follow its head", "[models]") {
  // DistilBertModel, ...ForMaskedLM, ...ForSequenceClassification, ...ForQuestionAnswering of
  // distilbert-base-uncased, num_parameters() of HuggingFace
  CHECK(count("distilbert_base", with_head("none")) == 66'362'880);
  CHECK(count("distilbert_base") == 66'985'530);
  CHECK(count("distilbert_base", with_head("classification")) == 66'955'010);
  CHECK(count("distilbert_base", with_head("qa")) == 66'364'418);
  // tables h (v + p), a norm; six layers of 4 (h^2 + h), 8 h^2 + 5 h, two norms
  const std::int64_t h = 768;
  CHECK(count("distilbert_base", with_head("none")) ==
        h * (30'522 + 512) + 2 * h + 6 * (4 * (h * h + h) + 8 * h * h + 5 * h + 4 * h));
}

TEST_CASE("The Transformer has the count of its equation", "[models]") {
  // attention 4 (h^2 + h), feed-forward 2 h f + f + h, norms 2 h; h = 512, f = 2048
  const std::int64_t attention = 4 * (512 * 512 + 512);
  const std::int64_t inner = 2 * 512 * 2048 + 2048 + 512;
  const std::int64_t encoder = attention + inner + 2 * 2 * 512;
  const std::int64_t decoder = 2 * attention + inner + 3 * 2 * 512;
  const std::int64_t table = 37'000 * 512;
  CHECK(count("transformer_wmt") == 6 * (encoder + decoder) + table);
  CHECK(count("transformer_wmt", untied()) == 6 * (encoder + decoder) + 3 * table);
}

TEST_CASE("The big Transformer has the paper's 213 million", "[models]") {
  // as above with h = 1024, f = 4096
  const std::int64_t attention = 4 * (1024 * 1024 + 1024);
  const std::int64_t inner = 2 * 1024 * 4096 + 4096 + 1024;
  CHECK(count("transformer_big") == 6 * (3 * attention + 2 * inner + 5 * 2 * 1024) + 37'000 * 1024);
  CHECK(std::abs(static_cast<double>(count("transformer_big")) - 213e6) < 2e6);  // table 3
}

TEST_CASE("ELECTRA's discriminator is BERT's encoder without pooler, and its head", "[models]") {
  // electra-base-discriminator and electra-large-discriminator of HuggingFace (ElectraModel)
  CHECK(count("electra_base", with_head("none")) == 108'891'648);
  CHECK(count("electra_large", with_head("none")) == 334'092'288);
  CHECK(count("electra_base", with_head("none")) ==
        count("bert_base", with_head("none")) - 768 * 769);
  // a layer as wide as the encoder, one number a token
  CHECK(count("electra_base") == 108'891'648 + 768 * 769 + 769);
  CHECK(count("electra_base", with_head("qa")) == 108'891'648 + 2 * 769);
}

TEST_CASE("DiT has the authors' counts, less the table of positions that does not train",
          "[models]") {
  // facebookresearch/DiT: 675,129,632 parameters of XL/2, 256 x 1152 of them fixed
  CHECK(count("dit_xl_2") == 675'129'632 - 256 * 1152);
  // Peebles and Xie, table 4: 130 M
  CHECK(std::abs(static_cast<double>(count("dit_b_2")) - 130e6) < 1e6);
}

TEST_CASE("GNMT has the 160 M of its equation", "[models]") {
  // h = 1024; an LSTM of i inputs: 4 h (i + h + 2). Two of h for the first layer, one of 2 h, two
  // of h; in the decoder one of h, three of 2 h; attention 2 h^2 + 2 h + 1; the table, and a
  // classifier
  const std::int64_t h = 1024;
  const std::int64_t narrow = 4 * h * (2 * h + 2);
  const std::int64_t wide = 4 * h * (3 * h + 2);
  CHECK(count("gnmt") == 2 * narrow + wide + 2 * narrow + narrow + 3 * wide + 2 * h * h + 2 * h +
                             1 + 32'320 * h + 32'320 * (h + 1));
  CHECK(count("gnmt") == 160'671'297);
}

TEST_CASE("The LSTM has the 66 M parameters of Zaremba et al.", "[models]") {
  // two tables of 10000 x 1500, a bias of 10000, 2 layers of 4 x 1500 x (1500 + 1500 + 2)
  CHECK(count("lstm_ptb") == 2 * 10'000 * 1500 + 10'000 + 2 * 4 * 1500 * 3002);
  CHECK(count("lstm_ptb") == 66'034'000);
}

TEST_CASE("The billion-word LSTM has the 0.83 G parameters of its shapes", "[models]") {
  // language_model.py of Parallax's lm1b, as rafaljozefowicz/lm: two tables of 793470 x 512, a bias
  // a word, W of (512 + 512) x 4 x 2048 with B, W_P of 2048 x 512
  const std::int64_t tables = 2 * std::int64_t{793'470} * 512 + 793'470;
  CHECK(count("lm_1b") == tables + 1024 * 8192 + 8192 + 2048 * 512);
  CHECK(count("lm_1b") == 822'752'126);
  // Jozefowicz et al., table 1: LSTM-2048-512, 0.83 billion
  CHECK(std::abs(static_cast<double>(count("lm_1b")) - 0.83e9) < 1e7);
}

TEST_CASE("Every model has names of its own, and both orders hold every tensor once", "[models]") {
  for (const config::ModelEntry& entry : config::model_catalogue()) {
    for (const std::string& head :
         entry.heads.empty() ? std::vector<std::string>{""} : entry.heads) {
      CAPTURE(entry.name, head);
      const ModelDescription model =
          entry.make(head.empty() ? ModelOptions{} : with_head(head.c_str()));
      CHECK(model.name == entry.name);
      std::set<std::string> layers;
      for (const ModelLayer& layer : model.layers) CHECK(layers.insert(layer.name).second);
      std::set<std::string> tensors;
      for (const ParameterSpec& tensor : test::parameters(model)) {
        CHECK(tensors.insert(tensor.name).second);
      }
      for (const auto* order : {&model.gradient_order, &model.registration_order}) {
        const std::set<TensorId> ids(order->begin(), order->end());
        CHECK(ids.size() == tensors.size());
        CHECK(order->size() == tensors.size());
        CHECK(*ids.rbegin() == static_cast<TensorId>(tensors.size()) - 1);
      }
    }
  }
}
