#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/profile/model_catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/models/analytic_profile.hpp"
#include "strategies/sharded/fsdp_units.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;

namespace {

/// The message for `text`, a mapping that holds `model:`.
std::string refusal(const std::string& text) {
  const config::YamlValue value = config::parse_yaml(text, "s.yaml");
  config::YamlMap map(value);
  return test::refusal_of([&] { return config::read_model(map); });
}

}  // namespace

TEST_CASE("The catalogue has every name that scripts rely on", "[models]") {
  std::istringstream words(
      "resnet18 resnet34 resnet50 resnet101 resnet152 resnet50_v2 resnet101_v2 resnet152_v2 "
      "wide_resnet50_2 resnet20 resnet56 resnet110 resnet18_cifar wide_resnet28_10 resnext50_32x4d "
      "resnext101_32x8d "
      "resnext101_32x4d se_resnext101_32x4d vgg11 vgg13 vgg16 vgg19 vgg16_cifar alexnet googlenet "
      "densenet121 densenet161 densenet201 inception_v3 inception_v4 xception nasnet_a_large "
      "nasnet_a_mobile mobilenet_v1 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small "
      "efficientnet_b0 efficientnet_b4 efficientnet_v2_s vit_s_16 vit_b_16 vit_l_16 vit_h_14 "
      "swin_t swin_s swin_b convnext_tiny convnext_base ssd300 mask_rcnn dit_b_2 dit_xl_2 sd_unet "
      "bert_base bert_large distilbert_base roberta_base roberta_large electra_base electra_large "
      "bart_base bart_large t5_small t5_base t5_large gpt2 gpt2_medium gpt2_large gpt2_xl "
      "transformer_wmt transformer_big transformer_xl_base transformer_xl_large gnmt lstm_ptb "
      "lm_1b jasper llama2_7b llama2_13b llama2_70b llama3_8b llama3_70b llama3_405b mistral_7b "
      "mixtral_8x7b qwen2_5_7b qwen2_5_72b qwen3_30b_a3b qwen3_235b_a22b deepseek_v3 gpt3_125m "
      "gpt3_350m gpt3_760m gpt3_1_3b gpt3_2_7b gpt3_6_7b gpt3_13b gpt3_175b opt_125m opt_1_3b "
      "opt_2_7b opt_6_7b opt_13b opt_30b opt_66b bloom_560m bloom_1b7 bloom_3b bloom_7b1 "
      "bloom_176b mpt_7b mpt_30b transformer");
  const std::vector<std::string> promised{std::istream_iterator<std::string>(words), {}};
  CHECK(config::names_of(config::model_catalogue()) == promised);
}

TEST_CASE("Every model's tensors are in one FSDP unit each, whatever the policy", "[models]") {
  for (const config::ModelEntry& entry : config::model_catalogue()) {
    CAPTURE(entry.name);
    JobView job;
    job.tensors = tensors_of(untimed_profile(entry.make({}), 1));
    std::vector<TensorId> all(job.tensors.size());
    std::iota(all.begin(), all.end(), 0);
    for (const WrapPolicy policy : {WrapPolicy::block, WrapPolicy::size_based, WrapPolicy::none}) {
      std::vector<TensorId> wrapped;
      for (const FsdpUnit& unit : make_fsdp_units(job, policy, Bytes{1 << 20})) {
        wrapped.insert(wrapped.end(), unit.tensors.begin(), unit.tensors.end());
      }
      std::ranges::sort(wrapped);
      CHECK(wrapped == all);
    }
  }
}

TEST_CASE("The options beside a model's name make it", "[models]") {
  const config::YamlValue value = config::parse_yaml(
      "{model: bert_base, sequence_length: 64, vocabulary: 30528, head: mlm, tied: false}", "s");
  config::YamlMap map(value);
  const ModelDescription model = config::read_model(map);
  map.finish();
  // encoder 109,482,240 without pooler (768 x 769), with 6 more words; transform, norm, bias,
  // decoder
  CHECK(model.parameter_count() ==
        109'482'240 - 768 * 769 + 6 * 768 + 768 * 769 + 2 * 768 + 30'528 + 768 * 30'528);
}

TEST_CASE("A transformer is made by its shape", "[models]") {
  const config::YamlValue value = config::parse_yaml(
      "{model: transformer, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 128, activation: "
      "gelu, norm: layer, vocabulary: 1000, sequence_length: 32, tied: true, rope: false, "
      "attention: eager, experts: {count: 4, active: 2, shared: 1, ffn: 32, every: 2}}",
      "s");
  config::YamlMap map(value);
  const ModelDescription model = config::read_model(map);
  map.finish();
  // tables of words and positions; attention h (a + 2 k) d + h h; a dense block 2 h f, one with 4
  // experts and a shared one of 2 h 32 and a router of 4 h; five norms of 2 h
  const std::int64_t attention = 64 * (4 + 2 * 2) * 16 + 64 * 64;
  CHECK(model.parameter_count() ==
        1000 * 64 + 32 * 64 + 2 * attention + 2 * 64 * 128 + 5 * 2 * 64 * 32 + 4 * 64 + 5 * 2 * 64);
}

TEST_CASE("Widths of families are options, and make one member of another", "[models]") {
  const auto count = [](const std::string& text) {
    const config::YamlValue value = config::parse_yaml(text, "s");
    config::YamlMap map(value);
    const ModelDescription model = config::read_model(map);
    map.finish();
    return model.parameter_count();
  };
  // BERT-Tiny of google-research/bert, 4.4 million (prajjwal1/bert-tiny: 4,385,920)
  CHECK(count("{model: bert_base, layers: 2, hidden: 128, heads: 2, head: none}") == 4'385'920);
  const std::string large = ", layers: 24, hidden: 1024, heads: 16}";
  for (const std::string family : {"bert", "roberta", "electra"}) {
    CAPTURE(family);
    CHECK(count("{model: " + family + "_base" + large) == count("{model: " + family + "_large}"));
  }
  CHECK(count("{model: vit_b_16" + large) == count("{model: vit_l_16}"));
  CHECK(count("{model: t5_base" + large) == count("{model: t5_large}"));
  CHECK(count("{model: gpt2, layers: 48, hidden: 1600, heads: 25}") == count("{model: gpt2_xl}"));
  CHECK(count("{model: dit_b_2, layers: 28, hidden: 1152, heads: 16}") ==
        count("{model: dit_xl_2}"));
  CHECK(count("{model: bart_base, layers: 12, hidden: 1024, heads: 16}") ==
        count("{model: bart_large}"));
  CHECK(count("{model: transformer_wmt, hidden: 1024, heads: 16}") ==
        count("{model: transformer_big}"));
  // DistilBERT of 12 layers: 66,362,880 (its encoder), and 6 layers of 12 h^2 + 13 h
  CHECK(count("{model: distilbert_base, layers: 12, head: none}") ==
        66'362'880 + 6 * (12 * 768 * 768 + 13 * 768));
  // Half the feed-forward block: 2 h f less in each of 12 layers, and its bias
  CHECK(count("{model: bert_base}") - count("{model: bert_base, ffn: 1536}") ==
        12 * (2 * 768 * 1536 + 1536));
  CHECK(count("{model: resnet50, width_per_group: 128}") == count("{model: wide_resnet50_2}"));
  CHECK(count("{model: resnet50, groups: 32, width_per_group: 4}") ==
        count("{model: resnext50_32x4d}"));
  CHECK(refusal("{model: bert_base, hidden: 1000}") ==
        "s.yaml:1:28: 'hidden' is 1000; expected a multiple of the 12 heads, or other 'heads' "
        "beside it");
  CHECK(refusal("{model: vit_l_16, heads: 5}") ==
        "s.yaml:1:26: 'heads' is 5, which does not divide 1024 features; expected a divisor");
  CHECK_THAT(refusal("{model: resnet18, width_per_group: 128}"),
             Catch::ContainsSubstring("model 'resnet18' has no option 'width_per_group'"));
}

TEST_CASE("A shape that no transformer can have is refused where it stands", "[models]") {
  CHECK(refusal("{model: transformer, hidden: 100, heads: 3}") ==
        "s.yaml:1:42: 'heads' is 3, which does not divide 100 features; expected a divisor, or "
        "'head_size'");
  CHECK(refusal("{model: llama3_8b, kv_heads: 5}") ==
        "s.yaml:1:30: 'kv_heads' is 5; expected a divisor of the 32 heads");
  CHECK(refusal("{model: opt_125m, sequence_length: 4096}") ==
        "s.yaml:1:36: 'sequence_length' is 4096; expected at most 2050, the rows of its table of "
        "positions");
  CHECK(refusal("{model: gpt2, attention: multihead}") ==
        "s.yaml:1:26: 'attention' is 'multihead'; expected eager or flash with model 'gpt2'");
  CHECK(refusal("{model: deepseek_v3, attention: eager}") ==
        "s.yaml:1:33: 'attention' is eager; expected flash: latent attention is modelled as one "
        "kernel");
  CHECK(refusal("{model: mixtral_8x7b, experts: {count: 2, active: 3, ffn: 8}}") ==
        "s.yaml:1:32: 'active' is 3; expected at most the 2 experts of 'count'");
}

TEST_CASE("An option that the model does not have is refused with those it has", "[models]") {
  CHECK(refusal("{model: resnet50, sequence_length: 128}") ==
        "s.yaml:1:36: model 'resnet50' has no option 'sequence_length'; expected image_size, "
        "classes, groups, width_per_group");
  CHECK(refusal("{model: gpt2, image_size: 224}") ==
        "s.yaml:1:27: model 'gpt2' has no option 'image_size'; expected sequence_length, "
        "vocabulary, attention, tied, layers, hidden, heads, ffn");
  CHECK(refusal("{model: bert_base, head: qa, tied: true}") ==
        "s.yaml:1:36: head 'qa' has no decoder to tie; expected 'tied' with the heads pretraining, "
        "pretraining_all_positions, mlm only");
  CHECK(refusal("{model: bert_base, classes: 3}") ==
        "s.yaml:1:29: head 'pretraining' has no classes; expected 'head: classification' beside "
        "'classes'");
}

TEST_CASE("A value that the model cannot take is refused with its range", "[models]") {
  CHECK(refusal("{model: bert_large, sequence_length: 513}") ==
        "s.yaml:1:38: 'sequence_length' is 513; expected 1 to 512");
  CHECK(refusal("{model: inception_v3, image_size: 74}") ==
        "s.yaml:1:35: 'image_size' is 74; expected 75 to 16384");
  CHECK(refusal("{model: sd_unet, image_size: 500}") ==
        "s.yaml:1:30: 'image_size' is 500; expected a multiple of 64");
  CHECK(refusal("{model: vit_b_16, image_size: 225}") ==
        "s.yaml:1:31: 'image_size' is 225; expected a multiple of 16");
  CHECK(refusal("{model: vit_h_14, image_size: 256}") ==
        "s.yaml:1:31: 'image_size' is 256; expected a multiple of 14");
  CHECK(refusal("{model: dit_xl_2, image_size: 264}") ==
        "s.yaml:1:31: 'image_size' is 264; expected a multiple of 16");
  CHECK(refusal("{model: googlenet, head: auxx}") ==
        "s.yaml:1:26: 'head' is 'auxx'; expected one of main, aux; did you mean 'aux'?");
}

TEST_CASE("An unknown model is refused with the nearest name", "[models]") {
  CHECK(refusal("{model: resnet51}") ==
        "s.yaml:1:9: 'model' is 'resnet51'; expected a name that 'gradwire list models' shows or a "
        "path to a .yaml file; did you mean 'resnet50'?");
  CHECK(
      refusal("{model: [resnet50]}") ==
      "s.yaml:1:9: 'model' is a list; expected a name that 'gradwire list models' shows or a path "
      "to a .yaml file");
}

TEST_CASE("A model's name may be a file beside the one that names it", "[models]") {
  const ConfigFixture files;
  static_cast<void>(
      files.write("schema: gradwire.model/1\n"
                  "name: small\n"
                  "input: [8]\n"
                  "layers: [{name: fc, kind: linear, out: 4}]\n",
                  "small.yaml"));
  const std::string scenario = files.write("{model: small.yaml}");
  const config::YamlValue value = config::load_yaml(scenario);
  config::YamlMap map(value);
  CHECK(config::read_model(map).parameter_count() == 8 * 4 + 4);

  const config::YamlValue with_option =
      config::parse_yaml("{model: small.yaml, classes: 2}", scenario);
  config::YamlMap refused(with_option);
  CHECK_THROWS_WITH(config::read_model(refused),
                    scenario +
                        ":1:30: a model of a file has no option 'classes'; expected its "
                        "layers to say it");
}
