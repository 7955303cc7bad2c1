#include "sim/config/profile/decoder_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/model_fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::config {
namespace {

using Shape = DecoderShape;

constexpr const char* decoders_file = "profiles/tables/decoders.yaml";  ///< in the data folder

const Fields<LatentShape>& latent_fields() {
  const auto width = [](const char* name, std::int64_t LatentShape::*member, const char* doc) {
    return field(name, member, doc, between<std::int64_t>(1, width_max), required);
  };
  static const Fields<LatentShape> fields = {
      "latent",
      "attention whose keys and values come from one narrow vector a token (DeepSeek)",
      {width("query_rank", &LatentShape::query_rank, "features that queries are made of"),
       width("kv_rank", &LatentShape::kv_rank, "features that keys and values are made of"),
       width("nope_size", &LatentShape::nope_size, "of a head's query and key without positions"),
       width("rope_size", &LatentShape::rope_size, "with rotary positions"),
       width("value_size", &LatentShape::value_size, "of a head's value")}};
  return fields;
}

Field<Shape> size(const char* name, std::int64_t Shape::*member, std::int64_t most, const char* doc,
                  const char* fallback = required) {
  return field(name, member, doc, between<std::int64_t>(1, most), fallback);
}

Field<Shape> flag(const char* name, bool Shape::*member, const char* doc) {
  return field(name, member, doc);
}

std::string text_of(const ExpertShape& experts) {
  return fmt::format("{{count: {}, active: {}, shared: {}, ffn: {}, every: {}, dense_layers: {}}}",
                     experts.count, experts.active, experts.shared, experts.ffn, experts.every,
                     experts.dense_layers);
}

std::string text_of(const LatentShape& latent) {
  return fmt::format(
      "{{query_rank: {}, kv_rank: {}, nope_size: {}, rope_size: {}, value_size: {}}}",
      latent.query_rank, latent.kv_rank, latent.nope_size, latent.rope_size, latent.value_size);
}

/// The words of a choice, as they are read and written.
template <class E>
using Words = std::vector<std::pair<std::string, E>>;

template <class E>
const std::string& word_of(const Words<E>& words, E value) {
  return std::ranges::find(words, value, &std::pair<std::string, E>::second)->first;
}

const Words<Shape::Activation>& activation_words() {
  using enum Shape::Activation;
  static const Words<Shape::Activation> words = {
      {"swiglu", swiglu}, {"gelu", gelu}, {"gelu_operators", gelu_operators}};
  return words;
}

const Words<Shape::Norm>& norm_words() {
  using enum Shape::Norm;
  static const Words<Shape::Norm> words = {
      {"rms", rms}, {"layer", layer}, {"layer_without_bias", layer_without_bias}};
  return words;
}

const Words<Shape::Positions>& position_words() {
  using enum Shape::Positions;
  static const Words<Shape::Positions> words = {
      {"rope", rope}, {"learned", learned}, {"alibi", alibi}};
  return words;
}
/// What the mapping says beside the shape's name and source.
void read_shape(const YamlMap& map, DecoderShape& shape) {
  decoder_fields().read_all(map, shape);
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.joined_qkv && shape.kv_heads != shape.heads) {
    map.fail("joined_qkv", "'joined_qkv' beside fewer 'kv_heads' than heads; expected false");
  }
  if (const auto problem = problem_of(shape)) map.fail(problem->key, problem->message);
}

/// A decoder's keys where another mapping has the rest.
std::vector<KeyInfo> partial_keys(const std::string& elsewhere) {
  std::vector<KeyInfo> keys = decoder_fields().keys();
  for (KeyInfo& key : keys) {
    if (key.fallback == required) key.fallback = elsewhere;
  }
  return keys;
}

Section common_section() {
  return {"family_decoder", "what a family's members have alike", partial_keys("the member's")};
}

const Fields<Shape>& name_fields() {
  static const Fields<Shape> fields = {
      "family_members",
      "a published decoder",
      {field("name", &Shape::name, "its own", {}, required),
       field("summary", &Shape::summary, "one line", {}, required)}};
  return fields;
}

Section member_section() {
  Section section = name_fields().section();
  const auto keys = partial_keys("the family's");
  section.keys.insert(section.keys.end(), keys.begin(), keys.end());
  return section;
}

/// Decoders that have much alike.
struct DecoderFamily {
  std::string source;
  const YamlValue* common = nullptr;
  const YamlValue* members = nullptr;
};

const Fields<DecoderFamily>& family_fields() {
  using Family = DecoderFamily;
  static const Fields<Family> fields = {
      "families",
      "decoders of one paper",
      {field("source", &Family::source, "where they are known from", {}, required),
       {{"decoder", required, "what they have alike", mapping_of(common_section)},
        [](YamlMap& map, Family& family) {
          family.common = &map.require_value("decoder", "a mapping");
        }},
       {{"members", required, "each with the rest", list_of(mapping_of(member_section))},
        [](YamlMap& map, Family& family) {
          family.members = &map.require_value("members", "a list of decoders");
        }}}};
  return fields;
}

struct DecodersFile {
  std::vector<DecoderFamily> families;
};

const Fields<DecodersFile>& file_fields() {
  static const Fields<DecodersFile> fields = {
      "decoders_file",
      "published decoders",
      {inside("families", &DecodersFile::families, family_fields, "by paper", required)}};
  return fields;
}

DecoderShape read_member(const YamlValue& member, const YamlValue& common) {
  DecoderShape shape;
  YamlValue own = member;
  std::erase_if(own.entries, [](const YamlEntry& entry) {
    return entry.key == "name" || entry.key == "summary";
  });
  own.entries.insert(own.entries.begin(), common.entries.begin(), common.entries.end());
  YamlMap map(member, "members");
  name_fields().read(map, shape);
  read_shape(YamlMap(own), shape);
  return shape;
}

}  // namespace

const Fields<DecoderShape>& decoder_fields() {
  static const Fields<Shape> fields = {
      "decoder",
      "a decoder by its shape, in a model file",
      {field("layers", &Shape::layers, "blocks", between(1, layers_max), required),
       size("hidden", &Shape::hidden, width_max, "width of a token"),
       size("heads", &Shape::heads, width_max, "of queries"),
       size("kv_heads", &Shape::kv_heads, width_max, "of keys and values", "heads"),
       size("head_size", &Shape::head_size, width_max, "features of a head", "hidden / heads"),
       size("ffn", &Shape::ffn, width_max, "width of the feed-forward block"),
       size("vocabulary", &Shape::vocabulary, count_max, "tokens that it knows"),
       size("sequence_length", &Shape::sequence_length, count_max,
            "tokens; `sequence_length` of a profile stands in its place"),
       choice("activation", &Shape::activation, activation_words(),
              "of the feed-forward block: with a gate, or without, in one kernel or, as BLOOM's, "
              "operator by operator"),
       choice("norm", &Shape::norm, norm_words(), "normalisation"),
       choice("positions", &Shape::positions, position_words(),
              "rotary, a table, or a slope in attention"),
       choice("attention", &Shape::attention,
              {{"flash", Shape::Attention::flash}, {"eager", Shape::Attention::eager}},
              "one kernel, or scores in memory"),
       size("position_rows", &Shape::position_rows, count_max, "of the table of learned positions",
            "sequence_length"),
       flag("tied", &Shape::tied, "output and input embedding share one tensor"),
       flag("bias", &Shape::bias, "in every linear layer of the blocks"),
       flag("qkv_bias", &Shape::qkv_bias, "in the projections before attention alone"),
       flag("joined_qkv", &Shape::joined_qkv, "one projection for queries, keys and values"),
       flag("embedding_norm", &Shape::embedding_norm, "a norm behind the embedding"),
       flag("head_norm", &Shape::head_norm, "an RMS norm of each head's query and key"),
       flag("dropout", &Shape::dropout, "of what attention and feed-forward block give"),
       inside("experts", &Shape::experts, expert_fields, "balanced"),
       inside("latent", &Shape::latent, latent_fields, "latent attention")}};
  return fields;
}

std::optional<DecoderShape> read_decoder_file(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.model/1");
  auto inner = map.optional_map("decoder");
  if (!inner) return std::nullopt;
  DecoderShape shape;
  shape.name = map.require<std::string>("name");
  shape.source = map.value_or<std::string>("source", document.where.file);
  read_shape(*inner, shape);
  map.finish();
  return shape;
}

Section decoders_section() {
  return file_fields().section();
}

std::vector<DecoderShape> read_decoders(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.decoders/1");
  DecodersFile file;
  file_fields().read_all(std::move(map), file);
  std::vector<DecoderShape> shapes;
  for (const DecoderFamily& family : file.families) {
    for (const YamlValue& member : family.members->items) {
      shapes.push_back(read_member(member, *family.common));
      shapes.back().source = family.source;
    }
  }
  return shapes;
}

const std::vector<DecoderShape>& published_decoders() {
  static const std::vector<DecoderShape> shapes = [] {
    auto all = read_decoders(loaded_yaml((data_folder() / decoders_file).string()));
    DecoderShape free = all.front();  // Llama 2's smallest
    free.name = "transformer";
    free.summary = "decoder of any shape (what is not said: Llama 2 7B's)";
    all.push_back(std::move(free));
    return all;
  }();
  return shapes;
}

std::string write_decoder_file(const DecoderShape& shape, std::span<const std::string> comments) {
  std::string text;
  for (const std::string& comment : comments) text += plain_format("# {}\n", comment);
  text += fmt::format("schema: gradwire.model/1\nname: {}\nsource: {}\ndecoder:\n",
                      yaml_quoted(shape.name), yaml_quoted(shape.source));
  const auto line = [&](std::string_view key, const auto& value) {
    text += fmt::format("  {}: {}\n", key, value);
  };
  line("layers", shape.layers);
  line("hidden", shape.hidden);
  line("heads", shape.heads);
  line("kv_heads", shape.kv_heads);
  if (shape.head_size > 0) line("head_size", shape.head_size);
  line("ffn", shape.ffn);
  line("vocabulary", shape.vocabulary);
  line("sequence_length", shape.sequence_length);
  line("activation", word_of(activation_words(), shape.activation));
  line("norm", word_of(norm_words(), shape.norm));
  line("positions", word_of(position_words(), shape.positions));
  if (shape.attention == Shape::Attention::eager) line("attention", "eager");
  if (shape.position_rows > 0) line("position_rows", shape.position_rows);
  if (shape.tied) line("tied", true);
  if (shape.bias) line("bias", true);
  if (shape.qkv_bias) line("qkv_bias", true);
  if (shape.joined_qkv) line("joined_qkv", true);
  if (shape.embedding_norm) line("embedding_norm", true);
  if (shape.head_norm) line("head_norm", true);
  if (shape.dropout) line("dropout", true);
  if (shape.experts.count > 0) line("experts", text_of(shape.experts));
  if (shape.latent) line("latent", text_of(*shape.latent));
  return text;
}

}  // namespace gradwire::config
