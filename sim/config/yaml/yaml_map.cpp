#include "sim/config/yaml/yaml_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/config/yaml/parallelism_words.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::config {
namespace {

std::string one_of(std::span<const std::string> known) {
  return fmt::format("{}{}", known.size() == 1 ? "" : "one of ", joined_by(known, ", "));
}

/// Adds a key once.
void add_once(std::vector<std::string>& keys, const std::string& key) {
  if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
}

/// Mappings of a scenario of which one key is often written in the place of the whole.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> scalar_means = {
    {{"strategy", "name"},
     {"compression", "name"},
     {"cluster", "node"},
     {"fabric", "kind"},
     {"collective", "library"}}};

}  // namespace

YamlMap::YamlMap(const YamlValue& value, const std::string& name)
    : value_(&value), asked_(value.entries.size()) {
  if (value.kind == YamlValue::Kind::map) return;
  const std::string what = name.empty() ? "the document" : fmt::format("'{}'", name);
  std::string meant;
  const auto* const key =
      std::ranges::find(scalar_means, name, &std::pair<std::string_view, std::string_view>::first);
  if (key != scalar_means.end() && value.kind == YamlValue::Kind::scalar && !value.text.empty()) {
    meant = fmt::format(", such as {{{}: {}}}", key->second, value.text);
  }
  throw ConfigError(value.where,
                    fmt::format("{} is {}; expected a mapping{}", what, describe(value), meant));
}

std::string YamlMap::variable_of(const std::string& key) const {
  return has(key) ? value_->find(key)->variable : "";
}

std::vector<std::string> YamlMap::keys() const {
  std::vector<std::string> names;
  for (const auto& entry : value_->entries) names.push_back(entry.key);
  return names;
}

std::vector<std::string> YamlMap::legal_keys() const {
  std::vector<std::string> keys = legal_;
  for (const std::string& key : known_) add_once(keys, key);
  return keys;
}

void YamlMap::declare(const std::vector<std::string>& keys) {
  legal_.reserve(legal_.size() + keys.size());
  for (const std::string& key : keys) add_once(legal_, key);
}

bool YamlMap::has(const std::string& key) const {
  known_.push_back(key);
  return value_->find(key) != nullptr;
}

const YamlValue* YamlMap::find(const std::string& key) {
  add_once(legal_, key);
  const auto entry = std::ranges::find(value_->entries, key, &YamlEntry::key);
  if (entry == value_->entries.end()) return nullptr;
  asked_[static_cast<std::size_t>(entry - value_->entries.begin())] = true;
  return &entry->value;
}

const YamlValue& YamlMap::require_value(const std::string& key, const std::string& what) {
  if (const YamlValue* value = find(key)) return *value;
  std::vector<std::string> left;  // a misspelt key is the likeliest reason that one is missing
  for (const auto& entry : value_->entries) {
    if (std::ranges::find(legal_, entry.key) == legal_.end()) left.push_back(entry.key);
  }
  // Of this key, or of one that would have stood in its place.
  std::string near = nearest_name(key, left);
  std::string hint = near.empty() ? "" : fmt::format("; is '{}' a misspelling of it?", near);
  for (const std::string& other : near.empty() ? left : std::vector<std::string>()) {
    const std::string meant = nearest_name(other, legal_keys());
    if (meant.empty()) continue;
    hint = fmt::format("; is '{}' a misspelling of '{}'?", other, meant);
    near = other;
    break;
  }
  const auto at = std::ranges::find(value_->entries, near, &YamlEntry::key);
  throw ConfigError(near.empty() ? value_->where : at->where,
                    fmt::format("missing key '{}'; expected {}{}", key, what, hint));
}

std::vector<const YamlValue*> YamlMap::items(const std::string& key, const std::string& what) {
  const YamlValue* value = find(key);
  if (value == nullptr) return {};
  if (value->kind != YamlValue::Kind::list) {
    fail(key,
         fmt::format("'{}' is {}; expected a list, each item {}", key, describe(*value), what));
  }
  std::vector<const YamlValue*> all;
  for (const auto& item : value->items) all.push_back(&item);
  return all;
}

std::string YamlMap::require_choice(const std::string& key, std::span<const std::string> known) {
  const YamlValue& value = require_value(key, one_of(known));
  if (std::ranges::find(known, value.text) == known.end()) fail_choice(value, key, known);
  return value.text;
}

std::string YamlMap::choice_or(const std::string& key, const std::string& fallback,
                               std::span<const std::string> known) {
  return find(key) == nullptr ? fallback : require_choice(key, known);
}

YamlMap YamlMap::require_map(const std::string& key) {
  return YamlMap(require_value(key, "a mapping"), key);
}

std::optional<YamlMap> YamlMap::optional_map(const std::string& key) {
  const YamlValue* value = find(key);
  return value != nullptr ? std::optional<YamlMap>(YamlMap(*value, key)) : std::nullopt;
}

std::vector<YamlMap> YamlMap::maps(const std::string& key) {
  std::vector<YamlMap> all;
  for (const YamlValue* item : items(key, "a mapping")) all.emplace_back(*item, key);
  return all;
}

void YamlMap::require_schema(const std::string& schema) {
  const std::vector<std::string> known{schema};
  require_choice("schema", known);
}

void YamlMap::refuse(const std::string& key) const {
  const auto entry = std::ranges::find(value_->entries, key, &YamlEntry::key);
  if (entry == value_->entries.end()) return;
  throw ConfigError(entry->where, fmt::format("not modelled yet: {}; expected no such key", key));
}

void YamlMap::finish() const {
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (asked_[i]) continue;
    const YamlEntry& entry = value_->entries[i];
    if (const std::string why = parallelism_refusal(entry.key); !why.empty()) {
      throw ConfigError(entry.where, why);
    }
    const std::vector<std::string> legal = legal_keys();
    throw ConfigError(entry.where,
                      fmt::format("unknown key '{}'; expected one of {}{}", entry.key,
                                  joined_by(legal, ", "), suggestion(entry.key, legal)));
  }
}

void YamlMap::fail(const std::string& key, const std::string& message) const {
  const YamlValue* value = value_->find(key);
  throw ConfigError(value != nullptr ? value->where : value_->where, message);
}

void fail_choice(const YamlValue& value, const std::string& name,
                 std::span<const std::string> known) {
  throw ConfigError(value.where, fmt::format("'{}' is {}; expected {}{}", name, describe(value),
                                             one_of(known), suggestion(value.text, known)));
}

}  // namespace gradwire::config
