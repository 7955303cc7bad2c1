#include "sim/config/collective/constants_yaml.hpp"

#include <fmt/format.h>

#include <utility>

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

/// A constant as its file has it.
struct WrittenConstant {
  const YamlValue* value = nullptr;
  std::string unit;
  const YamlValue* source = nullptr;
  SourceLocation where;
};

const Fields<WrittenConstant>& constant_fields() {
  using Constant = WrittenConstant;
  static const Fields<Constant> fields = {
      "constant",
      "a constant",
      {{{"value", required, "a number, or a list of numbers", {.type = ValueInfo::Type::any}},
        [](YamlMap& map, Constant& constant) {
          constant.value = &map.require_value("value", "a number, or a list of numbers");
          constant.where = map.where();
        }},
       field("unit", &Constant::unit, "of the number", {}, "none"),
       {{"source", "the first of the file's", "a name of `sources`"},
        [](YamlMap& map, Constant& constant) { constant.source = map.find("source"); }}}};
  return fields;
}

/// A file.
struct WrittenConstants {
  std::string set;
  std::string of;
  std::string like;
  std::vector<std::pair<std::string, ConstantSource>> sources;
  std::vector<std::pair<std::string, WrittenConstant>> constants;
};

const Fields<WrittenConstants>& file_of_constants_fields() {
  using File = WrittenConstants;
  static const Fields<File> fields = {
      "constants_file",
      "constants of one thing, each with unit and source",
      {field("set", &File::set, "which constants there are", {}, required),
       field("of", &File::of, "the thing", {}, required),
       {{"like", "none", "a file of `profiles/libraries` that has what this one has not"},
        [](YamlMap& map, File& file) {
          if (map.find("like") != nullptr) {
            file.like = require_data(map, "like", DataKind::constants);
          }
        }},
       by_name("sources", &File::sources, "SOURCE", source_fields, "by name", required),
       by_name("constants", &File::constants, "CONSTANT", constant_fields, "by name", required)}};
  return fields;
}

}  // namespace

Section constants_section() {
  return file_of_constants_fields().section();
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
  WrittenConstants written;
  file_of_constants_fields().read(map, written);
  map.finish();
  if (is_own) {
    set_ = written.set;
    of_ = written.of;
  } else if (written.set != set_) {
    map.fail("set",
             fmt::format("'set' is '{}'; another file's 'like' expects '{}'", written.set, set_));
  }
  if (!written.like.empty()) {
    if (depth == 0) map.fail("like", "'like' goes in a circle; expected a file with all constants");
    add(loaded_yaml(data_file(DataKind::constants, written.like).string()), false, depth - 1);
  }
  if (written.sources.empty()) {
    map.fail("sources", "'sources' is empty; expected at least one");
  }
  std::vector<std::string> names;
  for (auto& [name, source] : written.sources) {
    names.push_back(name);
    file.sources[name] = std::move(source);
  }
  for (const auto& [name, constant] : written.constants) {
    const std::string& source = constant.source == nullptr ? names.front() : constant.source->text;
    if (!file.sources.contains(source)) fail_choice(*constant.source, "source", names);
    entries_[name] = {constant.value, constant.unit, constant.where, &file.sources.at(source)};
  }
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
    throw ConfigError(entry.where,
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
    throw ConfigError(entry.where, fmt::format("there is no constant '{}' in set '{}'{}", name,
                                               set_, suggestion(name, known)));
  }
}

}  // namespace gradwire::config
