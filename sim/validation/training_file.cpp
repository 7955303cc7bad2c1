#include "sim/validation/training_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::validation {
namespace {

using config::YamlMap;
using config::YamlValue;

/// What the file says of a model or a method.
struct Named {
  std::vector<config::Override> changes;
  double single_gpu = 0;
  std::string gate;
  std::string missing;
};
using Names = std::map<std::string, Named>;

std::vector<std::string> keys_of(const Names& names) {
  std::vector<std::string> keys;
  for (const auto& entry : names) keys.push_back(entry.first);
  return keys;
}

/// `set: {strategy.name: bsp}`: keys of the scenario, as `points` has them.
std::vector<config::Override> read_set(YamlMap& map) {
  std::vector<config::Override> changes;
  const auto set = map.optional_map("set");
  if (!set) return changes;
  for (const auto& entry : map.find("set")->entries) {
    changes.push_back({entry.key, entry.where, entry.value});
  }
  return changes;
}

double read_rate(YamlMap& map, const std::string& key) {
  return map.value_or(key, 0.0, config::above(0.0));
}

/// Reads key by key, not by a table of fields: rows name models, methods and gates of the same
/// file, and a series is in the program's list, no user's file.
class Reader {
 public:
  explicit Reader(const YamlValue& document) : map_(document) {}

  TrainingFile read() {
    map_.require_schema("gradwire.reference.training/1");
    file_.name = map_.require<std::string>("name");
    file_.unit = map_.require_choice("unit", training_units());
    read_source();
    file_.scenario = map_.require_value("scenario", "a scenario that the rows change");
    read_gates();
    models_ = read_names("models");
    methods_ = read_names("methods");
    for (YamlMap& fitted : map_.maps("calibrate")) file_.fitted.push_back(read_fitted(fitted));
    for (YamlMap& group : map_.maps("groups")) read_group(group);
    if (file_.groups.empty()) map_.fail("groups", "there is no group; expected at least one");
    for (YamlMap& skipped : map_.maps("skipped")) {
      auto why = skipped.require<std::string>("why");
      for (const auto& id : skipped.list<std::string>("ids")) file_.skipped.emplace_back(id, why);
      skipped.finish();
    }
    map_.finish();
    return std::move(file_);
  }

 private:
  void read_source() {
    YamlMap source = map_.require_map("source");
    for (const std::string& key : source.keys()) {
      file_.source.emplace_back(key, source.require<std::string>(key));
    }
  }

  void read_gates() {
    auto gates = map_.optional_map("gates");
    if (!gates) return;
    for (const std::string& name : gates->keys()) {
      YamlMap gate = gates->require_map(name);
      const auto limit = config::above(config::Ratio{0});
      file_.gates.push_back({name, gate.require<config::Ratio>("median", limit).value,
                             gate.value_or("p90", config::Ratio{0}).value,
                             gate.value_or("worst", config::Ratio{0}).value});
      gate_names_.push_back(name);
      gate.finish();
    }
  }

  Names read_names(const std::string& key) {
    Names names;
    YamlMap list = map_.require_map(key);
    for (const std::string& name : list.keys()) {
      YamlMap entry = list.require_map(name);
      Named& named = names[name];
      named.changes = read_set(entry);
      if (key == "models") named.single_gpu = read_rate(entry, "single_gpu");
      if (entry.has("gate")) named.gate = entry.require_choice("gate", gate_names_);
      named.missing = entry.value_or<std::string>("missing", "");
      entry.finish();
    }
    return names;
  }

  FittedConstant read_fitted(YamlMap& map) {
    FittedConstant constant;
    constant.key = map.require<std::string>("key");
    constant.where = map.require_value("key", "a key of the scenario").where;
    if (map.has("model")) constant.model = map.require_choice("model", keys_of(models_));
    if (map.has("method")) constant.method = map.require_choice("method", keys_of(methods_));
    constant.methods = map.list<std::string>("methods");
    for (const std::string& name : constant.methods) {
      if (!methods_.contains(name)) {
        map.fail("methods", fmt::format("'{}' is not one of this file's methods; expected {}", name,
                                        joined_by(keys_of(methods_), ", ")));
      }
    }
    std::string high_unit;
    constant.low = read_end(map, "from", constant.unit);
    constant.high = read_end(map, "to", high_unit);
    if (constant.unit != high_unit || constant.low >= constant.high) {
      map.fail("to", "'to' is not above 'from' in the same unit; expected such a number");
    }
    map.finish();
    return constant;
  }

  /// A positive number, and what follows it.
  static double read_end(YamlMap& map, const std::string& key, std::string& unit) {
    const auto text = map.require<std::string>(key);
    double number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc{} || number <= 0) {
      map.fail(key, fmt::format("'{}' is '{}'; expected a number above 0 and its unit", key, text));
    }
    unit = std::string(read.ptr, end);
    return number;
  }

  void read_group(YamlMap& map) {
    TrainingGroup group;
    group.name = map.require<std::string>("name");
    const auto changes = read_set(map);
    const auto missing = map.value_or<std::string>("missing", "");
    std::map<std::string, double> rates;
    if (auto single = map.optional_map("single_gpu")) {
      for (const std::string& model : keys_of(models_)) {
        rates[model] = read_rate(*single, model);
      }
      single->finish();
    }
    for (YamlMap& fitted : map.maps("calibrate")) group.fitted.push_back(read_fitted(fitted));
    for (YamlMap& row : map.maps("rows")) {
      group.rows.push_back(read_row(row, changes, missing));
      TrainingRow& read = group.rows.back();
      if (read.single_gpu == 0) read.single_gpu = rates[read.model];
      read.compared = fmt::format("{}, {}", group.name, read.compared);
    }
    if (group.rows.empty()) map.fail("rows", "there is no row; expected at least one");
    map.finish();
    give_single_gpu(group);
    file_.groups.push_back(std::move(group));
  }

  TrainingRow read_row(YamlMap& map, const std::vector<config::Override>& of_group,
                       const std::string& group_missing) {
    static const std::vector<std::string> roles = {"calibrate", "score", "show"};
    TrainingRow row;
    row.id = map.require<std::string>("id");
    if (!ids_.insert(row.id).second) {
      map.fail("id", fmt::format("'{}' stands twice; expected each row once", row.id));
    }
    row.model = map.require_choice("model", keys_of(models_));
    row.method = map.require_choice("method", keys_of(methods_));
    const Named& model = models_.at(row.model);
    const Named& method = methods_.at(row.method);
    row.nodes = map.require<int>("nodes", config::at_least(1));
    row.gpus_per_node = map.require<int>("gpus_per_node", config::at_least(1));
    row.role = map.require_choice("role", roles);
    row.measured = map.require<double>("measured", config::above(0.0));
    row.spread = map.value_or("stdev", 0.0, config::at_least(0.0)) / row.measured;
    row.single_gpu = read_rate(map, "single_gpu");
    row.gate = !method.gate.empty()  ? method.gate
               : !model.gate.empty() ? model.gate
               : gate_names_.empty() ? ""
                                     : gate_names_.front();
    if (map.has("gate")) row.gate = map.require_choice("gate", gate_names_);
    row.missing = !method.missing.empty()  ? method.missing
                  : !model.missing.empty() ? model.missing
                                           : group_missing;
    row.missing = map.value_or("missing", row.missing);
    row.changes = model.changes;
    row.changes.insert(row.changes.end(), of_group.begin(), of_group.end());
    row.changes.insert(row.changes.end(), method.changes.begin(), method.changes.end());
    if (const YamlValue* batch = map.find("batch")) {
      map.require<int>("batch", config::at_least(1));
      row.changes.push_back({"profile.batch_per_gpu", batch->where, *batch});
    }
    const std::string batch_text = map.has("batch") ? " b" + map.find("batch")->text : "";
    const auto of_row = read_set(map);
    row.changes.insert(row.changes.end(), of_row.begin(), of_row.end());
    row.compared =
        fmt::format("{}{} on {}x{}", row.model, batch_text, row.nodes, row.gpus_per_node);
    map.finish();
    return row;
  }

  /// Where the rate of one GPU is a row of the table itself.
  void give_single_gpu(TrainingGroup& group) const {
    const bool is_rate = file_.unit.starts_with("samples/s");
    const auto alone = [](const TrainingRow& row) {
      return row.nodes == 1 && row.gpus_per_node == 1;
    };
    for (TrainingRow& row : group.rows) {
      for (const TrainingRow& other : group.rows) {
        const bool same = other.model == row.model && other.method == row.method &&
                          batch_of(other) == batch_of(row);
        if (row.single_gpu == 0 && is_rate && alone(other) && same) {
          row.single_gpu = other.measured;
        }
      }
      if (row.single_gpu == 0) row.single_gpu = models_.at(row.model).single_gpu;
    }
  }

  static std::string batch_of(const TrainingRow& row) {
    for (const auto& change : row.changes) {
      if (change.path == "profile.batch_per_gpu") return change.value.text;
    }
    return "";
  }

  YamlMap map_;
  TrainingFile file_;
  Names models_;
  Names methods_;
  std::vector<std::string> gate_names_;
  std::set<std::string> ids_;
};

}  // namespace

const std::vector<std::string>& training_units() {
  static const std::vector<std::string> units = {
      "samples/s", "samples/s/GPU", "x", "ms", std::string(memory_unit), std::string(tensors_unit)};
  return units;
}

TrainingFile read_training_file(const config::YamlValue& document) {
  return Reader(document).read();
}

}  // namespace gradwire::validation
