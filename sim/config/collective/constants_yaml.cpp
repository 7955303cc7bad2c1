#include "sim/config/collective/constants_yaml.hpp"

#include <fmt/format.h>

#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr int like_depth_max = 8;

Section fitted_rows_section() {
  return {.name = "fitted_rows",
          .summary = "what a fit was made on",
          .keys = {},
          .others = KeyInfo{"SERIES", "none", "of results/reference: which of its rows"}};
}

const Fields<ConstantSource>& source_fields() {
  using Source = ConstantSource;
  static const Fields<Source> fields = {
      "constant_source",
      "where constants come from",
      {word("kind", &Source::kind,
            {"published", "read", "measured", "fitted", "borrowed", "assumed"},
            "`read` in the original's source, `borrowed` from another thing", required),
       field("text", &Source::text, "which, in words", {}, required),
       {{"rows", "required where it is fitted", "on what", mapping_of(fitted_rows_section)},
        [](YamlMap& map, Source& source) {
          if (source.kind != "fitted") return;
          YamlMap rows = map.require_map("rows");
          for (const std::string& series : rows.keys()) {
            source.rows[series] = rows.require<std::string>(series);
          }
        }}}};
  return fields;
}

Section constant_section() {
  const ValueInfo any{.type = ValueInfo::Type::any};
  return {"constant",
          "a constant",
          {{"value", required, "a number, or a list of numbers", any},
           {"unit", "none", "of the number"},
           {"source", "the first of the file's", "a name of `sources`"}}};
}

/// A mapping with names of the file's own.
ValueInfo named(const std::string& name, const std::string& entry, Section (*section)()) {
  return mapping_of([=] {
    return Section{.name = name,
                   .summary = section().summary + ", by name",
                   .keys = {},
                   .others = KeyInfo{entry, "none", section().summary, mapping_of(section)}};
  });
}

}  // namespace

Section constants_section() {
  return {"constants_file",
          "constants of one thing, each with unit and source",
          {{"set", required, "which constants there are"},
           {"of", required, "the thing"},
           {"like", "none", "a file of `profiles/libraries` that has what this one has not"},
           {"sources", required, "by name",
            named("sources", "SOURCE", [] { return source_fields().section(); })},
           {"constants", required, "by name", named("constants", "CONSTANT", constant_section)}}};
}

Constants::Constants(const YamlValue& document) {
  add(document, true, like_depth_max);
}

Constants Constants::shipped(const std::string& name, const std::string& set) {
  Constants constants(loaded_yaml(data_file(DataKind::constants, name).string()));
  if (constants.set() != set) {
    throw ConfigError(constants.files_.front().document->where,
                      fmt::format("'set' is '{}'; expected '{}'", constants.set(), set));
  }
  return constants;
}

void Constants::add(const YamlValue& document, bool is_own, int depth) {
  File& file = files_.emplace_back(File{&document});
  YamlMap map(document);
  map.require_schema("gradwire.constants/1");
  const auto set = map.require<std::string>("set");
  const auto of = map.require<std::string>("of");
  if (is_own) {
    set_ = set;
    of_ = of;
  } else if (set != set_) {
    map.fail("set", fmt::format("'set' is '{}'; another file's 'like' expects '{}'", set, set_));
  }
  if (map.find("like") != nullptr) {
    const auto like = require_data(map, "like", DataKind::constants);
    if (depth == 0) map.fail("like", "'like' goes in a circle; expected a file with all constants");
    add(loaded_yaml(data_file(DataKind::constants, like).string()), false, depth - 1);
  }
  YamlMap sources = map.require_map("sources");
  const std::vector<std::string> names = sources.keys();
  if (names.empty()) map.fail("sources", "'sources' is empty; expected at least one");
  for (const std::string& name : names) {
    source_fields().read_all(sources.require_map(name), file.sources[name]);
  }
  YamlMap constants = map.require_map("constants");
  for (const std::string& name : constants.keys()) {
    YamlMap entry = constants.require_map(name);
    const YamlValue& value = entry.require_value("value", "a number, or a list of numbers");
    const auto unit = entry.value_or<std::string>("unit", "");
    const std::string source = entry.choice_or("source", names.front(), names);
    entry.finish();
    entries_[name] = {&value, unit, &entry.where(), &file.sources.at(source)};
  }
  map.finish();
}

std::vector<StatedConstant> Constants::stated() const {
  std::vector<StatedConstant> stated;
  for (const YamlEntry& written : files_.front().document->find("constants")->entries) {
    const Entry& entry = entries_.at(written.key);
    stated.push_back({written.key, to_text(*entry.value), entry.unit, *entry.source});
  }
  return stated;
}

const YamlValue& Constants::value_of(const std::string& name, const std::string& unit) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> left;
    for (const auto& [other, entry] : entries_) {
      if (!entry.is_read) left.push_back(other);
    }
    throw ConfigError(files_.front().document->where,
                      fmt::format("constant '{}' is missing{}", name, suggestion(name, left)));
  }
  Entry& entry = found->second;
  entry.is_read = true;
  if (entry.unit != unit) {
    throw ConfigError(*entry.where,
                      fmt::format("'{}' has {}; expected {}", name,
                                  entry.unit.empty() ? "no unit" : "unit '" + entry.unit + "'",
                                  unit.empty() ? "none" : "'" + unit + "'"));
  }
  return *entry.value;
}

const std::vector<YamlValue>& Constants::items(const YamlValue& value, const std::string& name,
                                               std::size_t count) {
  if (value.kind != YamlValue::Kind::list || value.items.size() != count) {
    throw ConfigError(value.where, fmt::format("'{}' is {}; expected a list of {}", name,
                                               value.kind == YamlValue::Kind::list
                                                   ? fmt::format("a list of {}", value.items.size())
                                                   : describe(value),
                                               count));
  }
  return value.items;
}

void Constants::finish() const {
  std::vector<std::string> known;
  for (const auto& [name, entry] : entries_) {
    if (entry.is_read) known.push_back(name);
  }
  for (const auto& [name, entry] : entries_) {
    if (entry.is_read) continue;
    throw ConfigError(*entry.where, fmt::format("there is no constant '{}' in set '{}'{}", name,
                                                set_, suggestion(name, known)));
  }
}

}  // namespace gradwire::config
