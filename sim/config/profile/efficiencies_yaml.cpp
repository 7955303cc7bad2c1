#include "sim/config/profile/efficiencies_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/models/efficiency_fit.hpp"

namespace gradwire::config {
namespace {

constexpr const char* efficiencies_schema = "gradwire.efficiencies/1";
/// A chain of `like` longer than this goes in a circle.
constexpr int like_depth_max = 4;

Range<Ratio> positive() {
  return above(Ratio{0});
}

const Fields<Efficiency>& efficiency_fields() {
  static const Fields<Efficiency> fields = {
      "efficiency",
      "of a class of work in one direction: `flops`, `memory` or both",
      {share("flops", &Efficiency::flops, "of the peak", positive(), "no bound"),
       share("memory", &Efficiency::memory, "of the reachable memory bandwidth", positive(),
             "no bound"),
       field("channel", &Efficiency::channel, "of the block that reads a channel by itself",
             above(BytesPerSecond{}), "nothing waits for one")}};
  return fields;
}

Field<DirectedEfficiency> direction(const std::string& name,
                                    Efficiency DirectedEfficiency::*member) {
  return {{name, required, "of that pass", mapping_of(efficiency_fields)},
          [=](YamlMap& map, DirectedEfficiency& into) {
            Efficiency& efficiency = into.*member;
            const YamlMap inner = map.require_map(name);
            efficiency_fields().read_all(inner, efficiency);
            if (efficiency.flops > 0 || efficiency.memory > 0) return;
            throw ConfigError(inner.where(),
                              "neither 'flops' nor 'memory' is given; expected a share in % of "
                              "the peak, of the reachable memory bandwidth, or both");
          }};
}

const Fields<DirectedEfficiency>& class_fields() {
  static const Fields<DirectedEfficiency> fields = {
      "work_class",
      "of a class of work",
      {direction("forward", &DirectedEfficiency::forward),
       direction("backward", &DirectedEfficiency::backward)}};
  return fields;
}

const Fields<EfficiencyTable>& classes_fields() {
  static const Fields<EfficiencyTable> fields = [] {
    std::vector<Field<EfficiencyTable>> all;
    for (const std::string& name : work_classes()) {
      all.push_back({{name, "none", "of that class of work", mapping_of(class_fields)},
                     [name](YamlMap& map, EfficiencyTable& table) {
                       auto entry = map.optional_map(name);
                       if (entry) class_fields().read_all(std::move(*entry), table[name]);
                     }});
    }
    return Fields<EfficiencyTable>("classes", "by class of work", all);
  }();
  return fields;
}

/// A type of another generation.
struct LikeType {
  std::string name;
  std::string dtype;
  SourceLocation where;
};

const Fields<LikeType>& like_fields() {
  static const Fields<LikeType> fields = {
      "like",
      "a type of another generation, times the factors beside it",
      {{{"name", required, "its file in `profiles/efficiencies`"},
        [](YamlMap& map, LikeType& like) {
          like.name = require_data(map, "name", DataKind::efficiencies);
          like.where = map.where();
        }},
       field("dtype", &LikeType::dtype, "of that file", {}, required)}};
  return fields;
}

/// A type as its file has it.
struct WrittenType {
  std::string source;
  std::optional<LikeType> like;
  std::optional<double> flops;
  std::optional<double> products;
  std::optional<double> memory;
  EfficiencyTable classes;
};

const Fields<WrittenType>& type_fields() {
  using Type = WrittenType;
  static const Fields<Type> fields = {
      "type_efficiencies",
      "of a type: classes, another type's, or both",
      {field("source", &Type::source, "where they are known from", {}, required),
       note<Type>("calibration", "the rows that a factor was fitted to, for readers"),
       inside("like", &Type::like, like_fields, "whose classes hold where there are none here"),
       share("flops", &Type::flops, "times that type's shares of the peak", positive(), "100 %"),
       share("products", &Type::products, "the same of matrix products", positive(), "as flops"),
       share("memory", &Type::memory,
             "times its shares of the memory bandwidth, of what does no "
             "arithmetic",
             positive(), "100 %"),
       {{"classes", "this or like", "shares by class of work", mapping_of(classes_fields)},
        [](YamlMap& map, Type& type) {
          auto classes = map.optional_map("classes");
          if (classes) return classes_fields().read_all(std::move(*classes), type.classes);
          if (type.like) return;
          map.fail("classes", "neither 'classes' nor 'like' is given; expected one of the two");
        }}}};
  return fields;
}

/// A file.
struct WrittenTypes {
  std::string name;
  std::vector<std::pair<std::string, WrittenType>> types;
};

const Fields<WrittenTypes>& file_of_types_fields() {
  static const Fields<WrittenTypes> fields = {
      "efficiencies_file",
      "shares of the peaks that a GPU generation's kernels reach",
      {field("name", &WrittenTypes::name, "the file's", {}, required),
       by_name("dtypes", &WrittenTypes::types, "TYPE", type_fields, "by `dtype`", required)}};
  return fields;
}

WrittenTypes read_types(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(efficiencies_schema);
  WrittenTypes written;
  file_of_types_fields().read_all(std::move(map), written);
  return written;
}

EfficiencyTable table_of(const WrittenType& type, int depth);

/// The table of another generation's type, times the factors.
EfficiencyTable like_table(const WrittenType& type, int depth) {
  const LikeType& like = *type.like;
  if (depth == 0) {
    throw ConfigError(like.where, "'like' goes in a circle; expected a type with its own classes");
  }
  LikeFactors factors;
  factors.convolutions = type.flops.value_or(1);
  factors.grouped = factors.convolutions;
  factors.products = type.products.value_or(factors.convolutions);
  factors.flash = type.products ? 1 : factors.convolutions;
  factors.memory = type.memory.value_or(1);
  const WrittenTypes& other =
      read_once<read_types>(data_file(DataKind::efficiencies, like.name).string());
  const auto found =
      std::ranges::find(other.types, like.dtype, &std::pair<std::string, WrittenType>::first);
  if (found == other.types.end()) {
    throw ConfigError(like.where, fmt::format("'{}' has no type '{}'; expected one of its 'dtypes'",
                                              like.name, like.dtype));
  }
  return scaled(table_of(found->second, depth - 1), factors);
}

EfficiencyTable table_of(const WrittenType& type, int depth) {
  EfficiencyTable table;
  if (type.like) table = like_table(type, depth);
  for (const auto& [name, efficiency] : type.classes) table[name] = efficiency;
  return table;
}

}  // namespace

Section efficiencies_section() {
  return file_of_types_fields().section();
}

std::map<std::string, EfficiencyTable> read_efficiencies(const YamlValue& document) {
  std::map<std::string, EfficiencyTable> tables;
  for (const auto& [name, type] : read_types(document).types) {
    tables[name] = table_of(type, like_depth_max);
  }
  return tables;
}

}  // namespace gradwire::config
