#include "sim/config/profile/model_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/model_entries.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "sim/models/widths.hpp"

namespace gradwire::config {
namespace {

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
       "so-manieth layer"}};
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

/// The sizes of a transformer's blocks are options.
void add_widths(ModelEntry& entry) {
  const Widths* const widths = find_widths(entry.name);
  if (widths == nullptr) return;
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  entry.parameters.push_back({"layers", number(widths->layers), widths->source});
  entry.parameters.push_back({"hidden", number(widths->hidden), "width of a token"});
  entry.parameters.push_back({"heads", number(widths->heads), "a divisor of hidden"});
  entry.parameters.push_back(
      {"ffn", number(widths->ffn),
       "width of the feed-forward block; beside another hidden 4 times that"});
  entry.problem = [name = entry.name](const ModelOptions& options) {
    return problem_of_widths(name, options);
  };
}

/// Ways to attend of a model whose own is `own`.
std::vector<std::string> attentions_beside(const std::string& own) {
  std::vector<std::string> words = {"eager", "flash"};
  if (own == multihead_attention) words.insert(words.begin(), own);
  return words;
}

/// Each parameter's range and words are those of the option.
void tell_values(ModelEntry& entry) {
  const std::vector<KeyInfo> options = model_fields().keys();
  for (KeyInfo& parameter : entry.parameters) {
    parameter.value = std::ranges::find(options, parameter.name, &KeyInfo::name)->value;
    if (parameter.name != "attention") continue;
    parameter.value.choices = attentions_beside(parameter.fallback);
  }
}

void check_attention(const YamlMap& map, const ModelEntry& entry, const ModelOptions& options) {
  if (!options.attention) return;
  const KeyInfo& key = *std::ranges::find(entry.parameters, "attention", &KeyInfo::name);
  const auto& known = key.value.choices;
  if (std::ranges::find(known, *options.attention) != known.end()) return;
  map.fail("attention", fmt::format("'attention' is '{}'; expected {} with model '{}'",
                                    *options.attention, joined_by(known, " or "), entry.name));
}

void check_options(const YamlMap& map, const ModelEntry& entry, const ModelOptions& options) {
  const auto known = names_of(entry.parameters);
  for (const std::string& key : names_of(model_fields().keys())) {
    if (map.has(key) && std::ranges::find(known, key) == known.end()) {
      map.fail(key, fmt::format("model '{}' has no option '{}'; expected {}", entry.name, key,
                                joined_by(known, ", ")));
    }
  }
  const int longest = entry.sequence_length_max > 0 ? entry.sequence_length_max : count_max;
  check_number(map, "image_size", options.image_size, entry.image_size_min, image_size_max);
  if (options.image_size.value_or(0) % entry.image_size_step != 0) {
    map.fail("image_size", fmt::format("'image_size' is {}; expected a multiple of {}",
                                       *options.image_size, entry.image_size_step));
  }
  check_number(map, "sequence_length", options.sequence_length, 1, longest);
  if (options.head && std::ranges::find(entry.heads, *options.head) == entry.heads.end()) {
    map.fail("head",
             fmt::format("'head' is '{}'; expected one of {}{}", *options.head,
                         joined_by(entry.heads, ", "), suggestion(*options.head, entry.heads)));
  }
  check_attention(map, entry, options);
  if (entry.heads == bert_heads()) check_bert(map, entry, options);
  if (!entry.problem) return;
  if (const auto problem = entry.problem(options)) map.fail(problem->key, problem->message);
}

/// A file's layers are what they are; a decoder takes a decoder's options.
ModelDescription read_own_model(const YamlMap& map, const YamlValue& value,
                                const ModelOptions& options) {
  const YamlValue document = loaded_yaml(find_data(DataKind::profile, value, "model"));
  if (const auto shape = read_decoder_file(document)) {
    ModelEntry entry = decoder_entry(*shape);
    tell_values(entry);
    check_options(map, entry, options);
    return entry.make(options);
  }
  for (const std::string& key : names_of(model_fields().keys())) {
    if (!map.has(key)) continue;
    map.fail(key, fmt::format("a model of a file has no option '{}'; expected its layers to say it",
                              key));
  }
  return read_model_file(document);
}

}  // namespace

Parameters with_heads(Parameters parameters, const std::vector<std::string>& heads,
                      const std::string& source) {
  parameters.push_back(
      {"head", heads.front(), fmt::format("one of {}; {}", joined_by(heads, ", "), source)});
  return parameters;
}

const std::vector<ModelEntry>& model_catalogue() {
  static const std::vector<ModelEntry> catalogue = [] {
    std::vector<ModelEntry> entries = image_models();
    std::ranges::move(text_models(), std::back_inserter(entries));
    for (const DecoderShape& shape : published_decoders()) entries.push_back(decoder_entry(shape));
    std::ranges::for_each(entries, add_widths);
    std::ranges::for_each(entries, tell_values);
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
    return read_own_model(map, value, options);
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

std::optional<ModelDescription> with_fused_attention(YamlMap& map) {
  const YamlValue* const name = map.find("model");
  if (name == nullptr || map.has("attention")) return std::nullopt;
  const auto entry = std::ranges::find(model_catalogue(), name->text, &ModelEntry::name);
  if (entry == model_catalogue().end()) return std::nullopt;
  const bool in_several = std::ranges::any_of(entry->parameters, [](const KeyInfo& parameter) {
    return parameter.name == "attention" && parameter.fallback == "eager";
  });
  if (!in_several) return std::nullopt;
  ModelOptions options;
  model_fields().read(map, options);
  options.attention = "flash";
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
