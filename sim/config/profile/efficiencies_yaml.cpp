#include "sim/config/profile/efficiencies_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/models/efficiency_fit.hpp"

namespace gradwire::config {
namespace {

constexpr const char* efficiencies_schema = "gradwire.efficiencies/1";
/// A chain of `like` longer than this goes in a circle.
constexpr int like_depth_max = 4;

EfficiencyTable read_table(const YamlValue& document, const std::string& dtype, int depth);

Efficiency read_direction(YamlMap map) {
  Efficiency efficiency;
  const Range<Ratio> positive = above(Ratio{0});
  if (const auto flops = map.optional<Ratio>("flops", positive)) efficiency.flops = flops->value;
  if (const auto memory = map.optional<Ratio>("memory", positive)) {
    efficiency.memory = memory->value;
  }
  efficiency.channel = map.value_or("channel", BytesPerSecond{}, above(BytesPerSecond{}));
  if (efficiency.flops <= 0 && efficiency.memory <= 0) {
    throw ConfigError(map.where(),
                      "neither 'flops' nor 'memory' is given; expected a share in % of "
                      "the peak, of the reachable memory bandwidth, or both");
  }
  map.finish();
  return efficiency;
}

void read_classes(YamlMap map, EfficiencyTable& table) {
  for (const std::string& name : work_classes()) {
    if (auto entry = map.optional_map(name)) {
      DirectedEfficiency efficiency;
      efficiency.forward = read_direction(entry->require_map("forward"));
      efficiency.backward = read_direction(entry->require_map("backward"));
      entry->finish();
      table[name] = efficiency;
    }
  }
  map.finish();
}

/// The table of another generation's type, times the factors.
EfficiencyTable read_like(YamlMap& map, YamlMap like, int depth) {
  const auto name = like.require_choice("name", data_names(DataKind::efficiencies));
  const auto dtype = like.require<std::string>("dtype");
  like.finish();
  if (depth == 0) map.fail("like", "'like' goes in a circle; expected a type with its own classes");
  const Range<Ratio> positive = above(Ratio{0});
  LikeFactors factors;
  factors.convolutions = map.value_or("flops", Ratio{1}, positive).value;
  factors.grouped = factors.convolutions;
  factors.products = map.value_or("products", Ratio{factors.convolutions}, positive).value;
  factors.flash = map.has("products") ? 1 : factors.convolutions;
  factors.memory = map.value_or("memory", Ratio{1}, positive).value;
  const YamlValue& other = loaded_yaml(data_file(DataKind::efficiencies, name).string());
  return scaled(read_table(other, dtype, depth - 1), factors);
}

EfficiencyTable read_dtype(YamlMap map, int depth) {
  static_cast<void>(map.require<std::string>("source"));
  map.find("calibration");  // the rows that a factor was fitted to, for readers of the file
  EfficiencyTable table;
  if (auto like = map.optional_map("like")) {
    table = read_like(map, std::move(*like), depth);
  } else if (!map.has("classes")) {
    map.fail("classes", "neither 'classes' nor 'like' is given; expected one of the two");
  }
  if (auto classes = map.optional_map("classes")) read_classes(std::move(*classes), table);
  map.finish();
  return table;
}

EfficiencyTable read_table(const YamlValue& document, const std::string& dtype, int depth) {
  YamlMap map(document);
  map.require_schema(efficiencies_schema);
  YamlMap dtypes = map.require_map("dtypes");
  const auto keys = dtypes.keys();
  if (std::ranges::find(keys, dtype) == keys.end()) {
    throw ConfigError(dtypes.where(),
                      fmt::format("there is no '{}'; another file's 'like' expects it", dtype));
  }
  return read_dtype(dtypes.require_map(dtype), depth);
}

}  // namespace

std::map<std::string, EfficiencyTable> read_efficiencies(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema(efficiencies_schema);
  static_cast<void>(map.require<std::string>("name"));
  YamlMap dtypes = map.require_map("dtypes");
  std::map<std::string, EfficiencyTable> tables;
  for (const std::string& dtype : dtypes.keys()) {
    tables[dtype] = read_dtype(dtypes.require_map(dtype), like_depth_max);
  }
  map.finish();
  return tables;
}

}  // namespace gradwire::config
