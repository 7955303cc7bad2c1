#include "sim/config/yaml/overlay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace gradwire::config {
namespace {

/// The entry of `key`, made when absent; its place becomes that of the override, which is to blame
/// when nobody knows the key.
YamlEntry& entry_of(YamlValue& map, const std::string& key, const SourceLocation& where) {
  const auto known = std::ranges::find(map.entries, key, &YamlEntry::key);
  if (known != map.entries.end()) return *known;
  YamlValue empty;
  empty.where = where;
  map.entries.push_back({key, where, std::move(empty)});
  return map.entries.back();
}

/// The item of a list that `key` counts, from 0.
YamlValue& item_of(YamlValue& list, const std::string& key, const std::string& path,
                   const SourceLocation& where) {
  std::size_t index = 0;
  const char* end = key.data() + key.size();
  const auto [rest, error] = std::from_chars(key.data(), end, index);
  if (error == std::errc{} && rest == end && index < list.items.size()) return list.items[index];
  throw ConfigError(where, fmt::format("'{}' has no item '{}', it is a list of {}; expected a "
                                       "number from 0 to {}",
                                       path, key, list.items.size(), list.items.size() - 1));
}

void make_map(YamlValue& value) {
  YamlValue map;
  map.kind = YamlValue::Kind::map;
  map.where = value.where;
  value = std::move(map);
}

/// A profile or a strategy by its name alone becomes the mapping that says the same.
void unfold_name(YamlValue& value, const std::string& key) {
  if (value.kind != YamlValue::Kind::scalar || (key != "profile" && key != "strategy")) return;
  YamlEntry name{key == "profile" ? "file" : "name", value.where, value};
  make_map(value);
  value.entries.push_back(std::move(name));
}

}  // namespace

Override parse_set(const std::string& option) {
  const bool variable = option.starts_with(env_option);
  const std::string file = variable ? option : "--set " + option;
  const std::string assignment =
      variable ? option.substr(std::string_view(env_option).size()) : option;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError(
        {file, 1, 1},
        variable ? "not an assignment; expected NAME=VALUE such as 'HOROVOD_CYCLE_TIME=3.5'"
                 : "not an assignment; expected KEY=VALUE such as 'strategy.bucket_cap=25 MiB'");
  }
  const std::string_view outer = variable ? "strategy." : "";
  // By itself: where it throws, gcc 12.2 destroys the members of a half built aggregate twice.
  YamlValue value = parse_yaml(assignment.substr(equals + 1), file, static_cast<int>(equals) + 2);
  return {std::string(outer) + assignment.substr(0, equals),
          {file, 1, 1},
          std::move(value),
          static_cast<int>(outer.size())};
}

void apply(YamlValue& document, const Override& change) {
  YamlValue* map = &document;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = std::min(change.path.find('.', begin), change.path.size());
    const std::string key = change.path.substr(begin, dot - begin);
    SourceLocation where = change.where;
    where.column += std::max(static_cast<int>(begin) - change.implied, 0);
    if (key.empty()) {
      throw ConfigError(
          where, fmt::format("an empty name in '{}'; expected names joined by dots", change.path));
    }
    if (map->kind == YamlValue::Kind::list && !map->items.empty()) {
      YamlValue& item = item_of(*map, key, change.path.substr(0, begin - 1), where);
      if (dot == change.path.size()) {
        item = change.value;
        return;
      }
      map = &item;
      begin = dot + 1;
      continue;
    }
    if (map->kind == YamlValue::Kind::empty) make_map(*map);
    if (map->kind != YamlValue::Kind::map) {
      throw ConfigError(where, fmt::format("'{}' has no keys, it is {}; expected a mapping",
                                           change.path.substr(0, begin - 1), describe(*map)));
    }
    YamlEntry& entry = entry_of(*map, key, where);
    if (dot == change.path.size()) {
      entry.where = where;
      entry.value = change.value;
      return;
    }
    if (map == &document) unfold_name(entry.value, key);
    map = &entry.value;
    begin = dot + 1;
  }
}

}  // namespace gradwire::config
