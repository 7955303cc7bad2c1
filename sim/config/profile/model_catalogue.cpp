#include "sim/config/profile/model_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/models/alexnet.hpp"
#include "sim/models/bart.hpp"
#include "sim/models/bert.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/densenet.hpp"
#include "sim/models/diffusion_unet.hpp"
#include "sim/models/dit.hpp"
#include "sim/models/efficientnet.hpp"
#include "sim/models/electra.hpp"
#include "sim/models/gnmt.hpp"
#include "sim/models/googlenet.hpp"
#include "sim/models/gpt2.hpp"
#include "sim/models/inception_v3.hpp"
#include "sim/models/inception_v4.hpp"
#include "sim/models/lstm.hpp"
#include "sim/models/mobilenet.hpp"
#include "sim/models/resnet.hpp"
#include "sim/models/resnet_cifar.hpp"
#include "sim/models/resnet_v2.hpp"
#include "sim/models/roberta.hpp"
#include "sim/models/t5.hpp"
#include "sim/models/transformer.hpp"
#include "sim/models/vgg.hpp"
#include "sim/models/vit.hpp"
#include "sim/models/xception.hpp"

namespace gradwire::config {
namespace {

using Parameters = std::vector<KeyInfo>;

Parameters image_options(int side, const std::string& source) {
  return {{"image_size", std::to_string(side), "pixels a side; " + source},
          {"classes", std::to_string(imagenet_classes), "ILSVRC 2012"}};
}

Parameters imagenet_options() {
  return image_options(imagenet_side, "torchvision's reference training");
}

Parameters cifar_options() {
  return {{"image_size", std::to_string(cifar_side), "pixels a side; CIFAR-10"},
          {"classes", std::to_string(cifar_classes), "CIFAR-10"}};
}

Parameters inception_options() {
  return image_options(inception_side, "Szegedy et al., arXiv 1512.00567, 1602.07261");
}

Parameters with_heads(Parameters parameters, const std::vector<std::string>& heads,
                      const std::string& source) {
  parameters.push_back(
      {"head", heads.front(), fmt::format("one of {}; {}", fmt::join(heads, ", "), source)});
  return parameters;
}

KeyInfo eager_attention() {
  return {"attention", "eager",
          "scores in memory; flash: as transformers from 4.48 on unless told otherwise"};
}

/// torchvision's vision transformers, whose attention timm's do without its copies.
Parameters vit_options() {
  Parameters parameters = imagenet_options();
  parameters.push_back({"attention", multihead_attention,
                        "nn.MultiheadAttention, which copies queries, keys and values; flash: as "
                        "timm's"});
  return parameters;
}

Parameters bert_options() {
  Parameters parameters = {
      {"sequence_length", std::to_string(bert_sequence_length),
       "tokens, at most 512; first phase of pre-training, Devlin et al., appendix A.2"},
      {"vocabulary", std::to_string(bert_vocabulary), "WordPiece of bert-base-uncased"},
      {"classes", "2", "of the head 'classification'"},
      eager_attention(),
      {"tied", "true", "decoder and word embedding share one tensor, which is ready last"}};
  return with_heads(parameters, bert_heads(), "pretraining decodes the masked positions only");
}

Parameters electra_options() {
  return with_heads({{"sequence_length", std::to_string(bert_positions), "tokens, the most"},
                     {"vocabulary", std::to_string(bert_vocabulary), "WordPiece, as BERT's"},
                     eager_attention()},
                    electra_heads(), "discrimination tells which tokens were replaced");
}

Parameters text_options(int length, const std::string& length_source, int vocabulary,
                        const std::string& vocabulary_source) {
  return {{"sequence_length", std::to_string(length), length_source},
          {"vocabulary", std::to_string(vocabulary), vocabulary_source}};
}

Parameters roberta_options() {
  Parameters parameters =
      text_options(bert_positions, "tokens, the most", roberta_vocabulary, "Liu et al. 2019");
  parameters.push_back(eager_attention());
  return parameters;
}

Parameters bart_options() {
  Parameters parameters =
      text_options(bert_positions, "tokens of source and of target; assumed, as RoBERTa's",
                   roberta_vocabulary, "bart-base of HuggingFace");
  parameters.push_back(eager_attention());
  return parameters;
}

Parameters t5_options() {
  return text_options(t5_sequence_length, "tokens of source, 114 in 512 of target; Raffel et al.",
                      t5_vocabulary, "t5-small of HuggingFace");
}

Parameters gnmt_options() {
  return text_options(wmt_sequence_length,
                      "tokens of source and of target; assumed, near the mean of WMT",
                      gnmt_vocabulary, "NVIDIA's DeepLearningExamples");
}

Parameters gpt2_options() {
  return {
      {"sequence_length", std::to_string(gpt2_positions), "tokens, the most; Radford et al. 2019"},
      {"vocabulary", std::to_string(gpt2_vocabulary), "byte pairs, Radford et al. 2019"},
      eager_attention(),
      {"tied", "true", "head and word embedding share one tensor, which is ready last"}};
}

Parameters transformer_options() {
  return {{"sequence_length", std::to_string(wmt_sequence_length),
           "tokens of source and of target; assumed, near the mean of WMT 2014"},
          {"vocabulary", std::to_string(wmt_vocabulary), "Vaswani et al., section 5.1"},
          {"tied", "true", "both embeddings and the projection share one tensor, section 3.4"}};
}

Parameters lstm_options() {
  return {{"sequence_length", std::to_string(ptb_steps), "steps; Zaremba et al., section 4.1"},
          {"vocabulary", std::to_string(ptb_vocabulary), "Penn Treebank"},
          {"tied", "false", "decoder and embedding have a table each"}};
}

Parameters decoder_options(const DecoderShape& shape) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const bool gated = shape.activation == DecoderShape::Activation::swiglu;
  Parameters parameters = {
      {"layers", number(shape.layers), shape.source},
      {"hidden", number(shape.hidden), "width of a token"},
      {"heads", number(shape.heads), "of queries"},
      {"kv_heads", number(shape.kv_heads), "of keys and values; a divisor of heads"},
      {"head_size", number(shape.head_size > 0 ? shape.head_size : shape.hidden / shape.heads),
       "features of a head; hidden / heads where one of them is given"},
      {"ffn", number(shape.ffn),
       "width of the feed-forward block; beside another hidden 4 times that, with swiglu 8/3 "
       "times"},
      {"activation", gated ? "swiglu" : "gelu", "of the feed-forward block"},
      {"norm", shape.norm == DecoderShape::Norm::layer ? "layer" : "rms", "normalisation"},
      {"attention", "flash", "one kernel, the causal half; or scores in memory"},
      {"rope", shape.positions == DecoderShape::Positions::rope ? "true" : "false",
       "rotary positions in place of a table"},
      {"sequence_length", number(shape.sequence_length), "tokens"},
      {"vocabulary", number(shape.vocabulary), "tokens that it knows"},
      {"tied", shape.tied ? "true" : "false", "head and word embedding share one tensor"},
      {"experts",
       shape.experts.count > 0
           ? fmt::format("{{count: {}, active: {}, shared: {}, ffn: {}, every: {}}}",
                         shape.experts.count, shape.experts.active, shape.experts.shared,
                         shape.experts.ffn, shape.experts.every)
           : "none",
       "mixture of experts: how many, for each token, for all tokens, their width, in each "
       "so-manieth "
       "layer"}};
  return parameters;
}

ModelEntry decoder_entry(const DecoderShape& shape) {
  return {
      .name = shape.name,
      .summary = shape.summary,
      .parameters = decoder_options(shape),
      .make =
          [shape](const ModelOptions& options) { return decoder(with_options(shape, options)); },
      .problem =
          [shape](const ModelOptions& options) {
            return problem_of(with_options(shape, options));
          }};
}

Parameters auxiliary_options(const Parameters& parameters) {
  return with_heads(parameters, auxiliary_heads(), "aux adds the auxiliary classifiers");
}

void check_number(const YamlMap& map, const std::string& key, const std::optional<int>& number,
                  int least, int most) {
  if (!number || (*number >= least && *number <= most)) return;
  map.fail(key, fmt::format("'{}' is {}; expected {} to {}", key, *number, least, most));
}

/// BERT's heads use some options and not others.
void check_bert(const YamlMap& map, const ModelEntry& entry, const ModelOptions& options) {
  const std::string head = options.head.value_or(entry.heads.front());
  if (options.classes && head != "classification") {
    map.fail("classes", fmt::format("head '{}' has no classes; expected 'head: classification' "
                                    "beside 'classes'",
                                    head));
  }
  if (options.tied && (head == "classification" || head == "qa" || head == "none")) {
    map.fail("tied", fmt::format("head '{}' has no decoder to tie; expected 'tied' with the heads "
                                 "pretraining, pretraining_all_positions, mlm only",
                                 head));
  }
}

void check_attention(const YamlMap& map, const ModelEntry& entry, const ModelOptions& options) {
  if (!options.attention) return;
  const std::string& own =
      std::ranges::find(entry.parameters, "attention", &KeyInfo::name)->fallback;
  const std::string other = own == multihead_attention ? multihead_attention : "eager";
  if (*options.attention == "flash" || *options.attention == other) return;
  map.fail("attention", fmt::format("'attention' is '{}'; expected {} or flash with model '{}'",
                                    *options.attention, other, entry.name));
}

void check_options(const YamlMap& map, const ModelEntry& entry, const ModelOptions& options) {
  const auto known = names_of(entry.parameters);
  for (const std::string& key : names_of(model_fields().keys())) {
    if (map.has(key) && std::ranges::find(known, key) == known.end()) {
      map.fail(key, fmt::format("model '{}' has no option '{}'; expected {}", entry.name, key,
                                fmt::join(known, ", ")));
    }
  }
  const int longest = entry.sequence_length_max > 0 ? entry.sequence_length_max : count_max;
  check_number(map, "image_size", options.image_size, entry.image_size_min, image_size_max);
  check_number(map, "sequence_length", options.sequence_length, 1, longest);
  if (options.head && std::ranges::find(entry.heads, *options.head) == entry.heads.end()) {
    map.fail("head",
             fmt::format("'head' is '{}'; expected one of {}{}", *options.head,
                         fmt::join(entry.heads, ", "), suggestion(*options.head, entry.heads)));
  }
  check_attention(map, entry, options);
  if (entry.heads == bert_heads()) check_bert(map, entry, options);
  if (!entry.problem) return;
  if (const auto problem = entry.problem(options)) map.fail(problem->key, problem->message);
}

/// A file's layers are what they are.
ModelDescription read_own_model(const YamlMap& map, const YamlValue& value) {
  for (const std::string& key : names_of(model_fields().keys())) {
    if (!map.has(key)) continue;
    map.fail(key, fmt::format("a model of a file has no option '{}'; expected its layers to say it",
                              key));
  }
  return read_model_file(loaded_yaml(find_data(DataKind::profile, value, "model")));
}

/// Those with code of their own.
// NOLINTNEXTLINE(readability-function-size): one list, a line a model
std::vector<ModelEntry> written_models() {
  return {
      {"resnet18", "residual network, 18 layers", imagenet_options(), resnet18, 32},
      {"resnet34", "residual network, 34 layers", imagenet_options(), resnet34, 32},
      {"resnet50", "residual network, 50 layers, v1.5", imagenet_options(), resnet50, 32},
      {"resnet101", "residual network, 101 layers, v1.5", imagenet_options(), resnet101, 32},
      {"resnet152", "residual network, 152 layers, v1.5", imagenet_options(), resnet152, 32},
      {"resnet50_v2", "residual network, 50 layers, norms first", imagenet_options(), resnet50_v2,
       32},
      {"resnet101_v2", "residual network, 101 layers, norms first", imagenet_options(),
       resnet101_v2, 32},
      {"resnet152_v2", "residual network, 152 layers, norms first", imagenet_options(),
       resnet152_v2, 32},
      {"wide_resnet50_2", "residual network, 50 layers of twice the width", imagenet_options(),
       wide_resnet50_2, 32},
      {"resnet20", "residual network for CIFAR-10, 20 layers", cifar_options(), resnet20, 4},
      {"resnet56", "residual network for CIFAR-10, 56 layers", cifar_options(), resnet56, 4},
      {"resnet110", "residual network for CIFAR-10, 110 layers", cifar_options(), resnet110, 4},
      {"resnext50_32x4d", "ResNeXt, 32 groups 4 wide", imagenet_options(), resnext50_32x4d, 32},
      {"resnext101_32x8d", "ResNeXt, 32 groups 8 wide", imagenet_options(), resnext101_32x8d, 32},
      {"resnext101_32x4d", "ResNeXt, 32 groups 4 wide", imagenet_options(), resnext101_32x4d, 32},
      {"se_resnext101_32x4d", "ResNeXt with squeeze-and-excitation", imagenet_options(),
       se_resnext101_32x4d, 32},
      {"vgg11", "VGG, configuration A, without batch norm", imagenet_options(), vgg11, 32},
      {"vgg13", "VGG, configuration B, without batch norm", imagenet_options(), vgg13, 32},
      {"vgg16", "VGG, configuration D, without batch norm", imagenet_options(), vgg16, 32},
      {"vgg19", "VGG, configuration E, without batch norm", imagenet_options(), vgg19, 32},
      {"vgg16_cifar",
       "VGG for CIFAR-10, configuration D, with batch norm",
       {cifar_options().back()},
       vgg16_cifar},
      {"alexnet", "AlexNet, one column", imagenet_options(), alexnet, 63},
      {"googlenet", "Inception v1 with batch norm", auxiliary_options(imagenet_options()),
       googlenet, 32, 0, auxiliary_heads()},
      {"densenet121", "DenseNet-BC, 121 layers", imagenet_options(), densenet121, 32},
      {"densenet161", "DenseNet-BC, 161 layers, 48 channels a layer", imagenet_options(),
       densenet161, 32},
      {"densenet201", "DenseNet-BC, 201 layers", imagenet_options(), densenet201, 32},
      {"inception_v3", "Inception v3", auxiliary_options(inception_options()), inception_v3, 75, 0,
       auxiliary_heads()},
      {"inception_v4", "Inception v4", inception_options(), inception_v4, 75},
      {"xception", "Xception", inception_options(), xception, 65},
      {"mobilenet_v1", "MobileNet, convolutions by channel", imagenet_options(), mobilenet_v1, 32},
      {"mobilenet_v2", "MobileNet, inverted residuals", imagenet_options(), mobilenet_v2, 32},
      {"mobilenet_v3_large", "MobileNet, searched, large", imagenet_options(), mobilenet_v3_large,
       32},
      {"mobilenet_v3_small", "MobileNet, searched, small", imagenet_options(), mobilenet_v3_small,
       32},
      {"efficientnet_b0", "EfficientNet, the base", imagenet_options(), efficientnet_b0, 32},
      {"efficientnet_b4", "EfficientNet, 1.4 times as wide, 1.8 times as deep",
       image_options(efficientnet_b4_side, "Tan and Le, efficientnet_builder.py"), efficientnet_b4,
       32},
      {"efficientnet_v2_s", "EfficientNet v2, small",
       image_options(efficientnet_v2_s_side, "torchvision's reference training; judged at 384"),
       efficientnet_v2_s, 33},
      {"vit_s_16", "Vision Transformer, small, patches of 16 pixels", imagenet_options(), vit_s_16,
       16},
      {"vit_b_16", "Vision Transformer, base, patches of 16 pixels", vit_options(), vit_b_16, 16},
      {"vit_l_16", "Vision Transformer, large, patches of 16 pixels", vit_options(), vit_l_16, 16},
      {"vit_h_14", "Vision Transformer, huge, patches of 14 pixels", vit_options(), vit_h_14, 14},
      {"dit_b_2", "Diffusion Transformer, base, patches of 2",
       image_options(dit_side, "Peebles and Xie, table 4"), dit_b_2, 16},
      {"dit_xl_2", "Diffusion Transformer, extra large, patches of 2",
       image_options(dit_side, "Peebles and Xie, table 4"), dit_xl_2, 16},
      {.name = "sd_unet",
       .summary = "U-Net of Stable Diffusion 1.x",
       .parameters = {image_options(sd_side, "Stable Diffusion 1.x").front()},
       .make = sd_unet,
       .image_size_min = 64,
       .problem = sd_unet_problem},
      {"bert_base", "BERT, 12 layers 768 wide", bert_options(), bert_base, 0, bert_positions,
       bert_heads()},
      {"bert_large", "BERT, 24 layers 1024 wide", bert_options(), bert_large, 0, bert_positions,
       bert_heads()},
      {"roberta_base", "RoBERTa, 12 layers 768 wide", roberta_options(), roberta_base, 0,
       bert_positions},
      {"roberta_large", "RoBERTa, 24 layers 1024 wide", roberta_options(), roberta_large, 0,
       bert_positions},
      {"electra_base", "ELECTRA's discriminator, 12 layers 768 wide", electra_options(),
       electra_base, 0, bert_positions, electra_heads()},
      {"electra_large", "ELECTRA's discriminator, 24 layers 1024 wide", electra_options(),
       electra_large, 0, bert_positions, electra_heads()},
      {"bart_base", "BART, 6 and 6 layers 768 wide", bart_options(), bart_base, 0, bart_positions},
      {"bart_large", "BART, 12 and 12 layers 1024 wide", bart_options(), bart_large, 0,
       bart_positions},
      {"t5_small", "T5, 6 and 6 layers 512 wide", t5_options(), t5_small},
      {"t5_base", "T5, 12 and 12 layers 768 wide", t5_options(), t5_base},
      {"t5_large", "T5, 24 and 24 layers 1024 wide", t5_options(), t5_large},
      {"gpt2", "GPT-2, 12 layers 768 wide", gpt2_options(), gpt2, 0, gpt2_positions},
      {"gpt2_medium", "GPT-2, 24 layers 1024 wide", gpt2_options(), gpt2_medium, 0, gpt2_positions},
      {"gpt2_large", "GPT-2, 36 layers 1280 wide", gpt2_options(), gpt2_large, 0, gpt2_positions},
      {"gpt2_xl", "GPT-2, 48 layers 1600 wide", gpt2_options(), gpt2_xl, 0, gpt2_positions},
      {"transformer_wmt", "Transformer base, English-German", transformer_options(),
       transformer_wmt},
      {"transformer_big", "Transformer big, English-German", transformer_options(),
       transformer_big},
      {"gnmt", "GNMT, 4 and 4 LSTM layers 1024 wide", gnmt_options(), gnmt},
      {"lstm_ptb", "language model of two LSTM layers, 1500 wide", lstm_options(), lstm_ptb},
  };
}

}  // namespace

const std::vector<ModelEntry>& model_catalogue() {
  static const std::vector<ModelEntry> catalogue = [] {
    std::vector<ModelEntry> entries = written_models();
    for (const DecoderShape& shape : published_decoders()) entries.push_back(decoder_entry(shape));
    const std::vector<KeyInfo> options = model_fields().keys();
    for (ModelEntry& entry : entries) {
      for (KeyInfo& parameter : entry.parameters) {
        parameter.value = std::ranges::find(options, parameter.name, &KeyInfo::name)->value;
      }
    }
    return entries;
  }();
  return catalogue;
}

ModelDescription read_model(YamlMap& map) {
  const YamlValue& value =
      map.require_value("model", "a name that 'gradwire list models' shows or a .yaml file");
  ModelOptions options;
  model_fields().read(map, options);
  if (value.text.ends_with(".yaml") || value.text.ends_with(".yml")) {
    return read_own_model(map, value);
  }
  const auto entry = std::ranges::find(model_catalogue(), value.text, &ModelEntry::name);
  if (value.kind != YamlValue::Kind::scalar || entry == model_catalogue().end()) {
    throw ConfigError(
        value.where,
        fmt::format("'model' is {}; expected a name that 'gradwire list models' "
                    "shows or a path to a .yaml file{}",
                    describe(value), suggestion(value.text, names_of(model_catalogue()))));
  }
  check_options(map, *entry, options);
  return entry->make(options);
}

ModelDescription read_model(const YamlValue& value) {
  YamlValue document;
  document.kind = YamlValue::Kind::map;
  document.where = value.where;
  document.entries.push_back({"model", value.where, value});
  YamlMap map(document);
  return read_model(map);
}

}  // namespace gradwire::config
