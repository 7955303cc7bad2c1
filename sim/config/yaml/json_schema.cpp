#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/config/file_kinds.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::config {
namespace {

using Json = nlohmann::ordered_json;
using Type = ValueInfo::Type;

/// Any scalar, as text is read.
Json scalar_schema() {
  return {{"type", {"string", "number", "boolean"}}};
}

Json number(const char* type, const ValueInfo& value) {
  Json json = {{"type", type}};
  if (value.above) json["exclusiveMinimum"] = *value.above;
  if (value.least) json["minimum"] = *value.least;
  if (value.most) json["maximum"] = *value.most;
  return json;
}

/// A number and its unit.
Json quantity(const ValueInfo& value) {
  return {
      {"type", "string"},
      {"pattern", fmt::format("^[0-9.]+([eE][-+]?[0-9]+)? *({})$", joined_by(value.units, "|"))}};
}

/// Words, which plain YAML may read as numbers or as yes and no: version 4.1.
Json words(const std::vector<std::string>& choices) {
  Json all = Json::array();
  for (const std::string& word : choices) {
    all.push_back(word);
    const Json plain = Json::parse(word, nullptr, false);
    if (plain.is_number() || plain.is_boolean()) all.push_back(plain);
  }
  return {{"enum", std::move(all)}};
}

Json schema_of(const ValueInfo& value) {
  Json json;
  if (!value.item.empty()) return {{"type", "array"}, {"items", schema_of(value.item.front())}};
  switch (value.type) {
    case Type::any:
      json = Json::object();
      break;
    case Type::text:
      json = scalar_schema();
      break;
    case Type::yes_no:
      json = {{"type", "boolean"}};
      break;
    case Type::whole:
      json = number("integer", value);
      break;
    case Type::formula:
      json = {{"type", {"number", "string"}}};
      break;
    case Type::number:
      json = number("number", value);
      break;
    case Type::choice:
      json = words(value.choices);
      break;
    case Type::section:
      json = {{"$ref", "#/definitions/" + value.section().name}};
      break;
    default:
      json = quantity(value);
  }
  if (value.list) json = {{"type", "array"}, {"items", std::move(json)}};
  if (value.or_else.empty()) return json;
  Json any = Json::array({std::move(json)});
  for (const ValueInfo& other : value.or_else) any.push_back(schema_of(other));
  return {{"anyOf", std::move(any)}};
}

void add_properties(const std::vector<KeyInfo>& keys, Json& properties) {
  for (const KeyInfo& key : keys) {
    Json json = schema_of(key.value);
    json["description"] = fmt::format("{} (default: {})", key.doc, key.fallback);
    // A $ref hides what stands beside it in draft 7.
    if (json.contains("$ref")) {
      json["allOf"] = Json::array({{{"$ref", json["$ref"]}}});
      json.erase("$ref");
    }
    properties[key.name] = std::move(json);
  }
}

/// The keys of a variant, and those that every variant has, of which the whole says the types.
Json variant_schema(const Section& section, const std::vector<KeyInfo>& keys) {
  Json properties = Json::object();
  for (const KeyInfo& key : section.keys) properties[key.name] = true;
  for (const std::string& name : section.other_names) properties[name] = true;
  add_properties(keys, properties);
  return {{"properties", std::move(properties)}, {"additionalProperties", false}};
}

/// What holds where the key that chooses says so.
Json variant_cases(const Section& section) {
  Json cases = Json::array();
  std::vector<KeyInfo> all;
  for (const Variant& variant : section.variants) {
    Json chosen = {{"properties", {{section.chosen_by, {{"const", variant.name}}}}}};
    if (variant.name != section.chosen_default) chosen["required"] = {section.chosen_by};
    cases.push_back({{"if", std::move(chosen)}, {"then", variant_schema(section, variant.keys)}});
    for (const KeyInfo& key : variant.keys) {
      all.push_back({key.name, key.fallback, key.doc, {.type = Type::any}});
    }
  }
  if (section.chosen_default.empty()) {
    cases.push_back({{"if", {{"not", {{"required", {section.chosen_by}}}}}},
                     {"then", variant_schema(section, all)}});
  }
  return cases;
}

Json schema_of(const Section& section) {
  Json properties = Json::object();
  add_properties(section.keys, properties);
  for (const std::string& name : section.other_names) properties[name] = scalar_schema();
  Json json = {
      {"type", "object"}, {"description", section.summary}, {"properties", std::move(properties)}};
  if (!section.variants.empty()) {
    json["allOf"] = variant_cases(section);
  } else if (section.others) {
    json["additionalProperties"] = schema_of(section.others->value);
  } else {
    json["additionalProperties"] = false;
  }
  return json;
}

void require_keys(const std::vector<KeyInfo>& keys, Json& schema) {
  Json names = Json::array();
  for (const KeyInfo& key : keys) {
    if (key.fallback == required) names.push_back(key.name);
  }
  if (!names.empty()) schema["required"] = std::move(names);
}

/// Are all keys of a mapping in one place? Not in a scenario, where `points` and `vary` may give
/// any: only items of lists stand alone.
bool stands_alone(const Section& section, const std::vector<Section>& all) {
  if (all.front().name != scenario_section().name) return true;
  return std::ranges::any_of(all, [&](const Section& other) {
    return std::ranges::any_of(other.keys, [&](const KeyInfo& key) {
      return key.value.list && key.value.section && key.value.section().name == section.name;
    });
  });
}

}  // namespace

std::string json_schema(const FileKind& kind) {
  const std::vector<Section> sections = sections_of(kind);
  Json definitions = Json::object();
  for (const Section& section : sections) {
    Json& json = definitions[section.name] = schema_of(section);
    if (stands_alone(section, sections)) require_keys(section.keys, json);
  }
  const std::string root = sections.front().name;
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", kind.name}};
  schema.update(definitions[root]);
  if (!schema.contains("required")) schema["required"] = {"schema"};
  definitions.erase(root);
  schema["definitions"] = std::move(definitions);
  return schema.dump(1) + "\n";
}

}  // namespace gradwire::config
