#include "sim/config/original_knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/config/catalogue.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/yaml_map.hpp"

namespace gradwire::config {
namespace {

/// Environment variables: capitals, digits and underscores.
bool is_original_name(const std::string& key) {
  return std::ranges::all_of(
             key,
             [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }) &&
         std::ranges::any_of(key, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::int64_t non_negative(const YamlValue& value, const std::string& name) {
  const auto number = read_value<std::int64_t>(value, name);
  check_range(number, at_least(std::int64_t{0}), value, name);
  return number;
}

/// The value as our knob writes it.
std::string translated(const YamlValue& value, const OriginalKnob& knob) {
  switch (knob.unit) {
    case OriginalUnit::bytes:
      return fmt::format("{} B", non_negative(value, knob.name));
    case OriginalUnit::milliseconds:
      return fmt::format("{} ms", read_value<double>(value, knob.name));
    case OriginalUnit::number:
      return fmt::format("{}", non_negative(value, knob.name));
    case OriginalUnit::flag:
      static const std::vector<std::string> states = {"0", "1"};
      if (std::ranges::find(states, value.text) == states.end()) {
        fail_choice(value, knob.name, states);
      }
      return value.text == "1" ? "true" : "false";
    case OriginalUnit::text:
      break;
  }
  return read_value<std::string>(value, knob.name);
}

const OriginalKnob& knob_of(const YamlEntry& entry, const std::string& strategy) {
  const auto& known = original_knobs();
  const auto names = names_of(known);
  const auto is_it = [&](const OriginalKnob& knob) { return knob.name == entry.key; };
  const OriginalKnob* found = nullptr;
  std::vector<std::string> owners;
  for (const OriginalKnob& knob : known) {
    if (!is_it(knob)) continue;
    owners.insert(owners.end(), knob.strategies.begin(), knob.strategies.end());
    if (std::ranges::find(knob.strategies, strategy) != knob.strategies.end()) found = &knob;
  }
  if (owners.empty()) {
    throw ConfigError(entry.where,
                      fmt::format("'{}' is no variable that an original system reads, or none that "
                                  "matters here; expected one that 'gradwire list variables' "
                                  "shows{}",
                                  entry.key, suggestion(entry.key, names)));
  }
  if (found == nullptr) {
    throw ConfigError(entry.where, fmt::format("'{}' is of {}, the strategy is '{}'; expected a "
                                               "variable of its own",
                                               entry.key, fmt::join(owners, " and "), strategy));
  }
  return *found;
}

/// The mapping that a dotted key ends in, made where it is missing, and the key in it.
std::pair<YamlValue*, std::string> place_of(YamlValue& map, const std::string& key,
                                            const SourceLocation& where) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return {&map, key};
  const std::string outer = key.substr(0, dot);
  auto entry = std::ranges::find(map.entries, outer, &YamlEntry::key);
  if (entry == map.entries.end()) {
    YamlValue inner;
    inner.kind = YamlValue::Kind::map;
    inner.where = where;
    map.entries.push_back({outer, where, std::move(inner)});
    entry = map.entries.end() - 1;
  }
  return {&entry->value, key.substr(dot + 1)};
}

}  // namespace

std::string name_of(OriginalUnit unit) {
  switch (unit) {
    case OriginalUnit::bytes:
      return "bytes";
    case OriginalUnit::milliseconds:
      return "ms";
    case OriginalUnit::number:
      return "number";
    case OriginalUnit::flag:
      return "0 or 1";
    case OriginalUnit::text:
      break;
  }
  return "text";
}

void translate_original_knobs(YamlValue& scenario) {
  const auto strategy = std::ranges::find(scenario.entries, "strategy", &YamlEntry::key);
  if (strategy == scenario.entries.end()) return;
  YamlValue& map = strategy->value;
  const std::string name = strategy_named(scenario);
  std::vector<YamlEntry> originals;
  std::erase_if(map.entries, [&](YamlEntry& entry) {
    if (!is_original_name(entry.key)) return false;
    originals.push_back(entry);
    return true;
  });
  for (YamlEntry& original : originals) {
    const OriginalKnob& knob = knob_of(original, name);
    YamlValue value = original.value;
    value.text = translated(original.value, knob);
    value.quoted = knob.unit == OriginalUnit::text;
    const auto [place, key] = place_of(map, knob.key, original.where);
    if (place->find(key) != nullptr) {
      throw ConfigError(original.where,
                        fmt::format("'{}' and '{}' say the same thing; expected one of the two",
                                    original.key, knob.key));
    }
    place->entries.push_back({key, original.where, std::move(value)});
  }
}

}  // namespace gradwire::config
