#include "sim/validation/training_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/config/yaml/fields.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::validation {
namespace {

using config::Field;
using config::Fields;
using config::required;
using config::YamlMap;

/// What the file says of a model or a method.
struct Named {
  std::vector<config::Override> changes;
  double single_gpu = 0;
  std::string gate;
  std::string missing;
};
using Names = std::map<std::string, Named>;

/// Rows that stand together, and what all of them have.
struct GroupKeys {
  TrainingGroup group;
  std::vector<config::Override> changes;
  std::string missing;
  std::map<std::string, double> single_gpu;  ///< by model
};

struct Skipped {
  std::string why;
  std::vector<std::string> ids;
};

std::vector<std::string> keys_of(const Names& names) {
  std::vector<std::string> keys;
  for (const auto& entry : names) keys.push_back(entry.first);
  return keys;
}

/// `set: {strategy.name: bsp}`.
template <class T>
Field<T> set_key(std::vector<config::Override> T::*changes) {
  return {{"set", "none", "keys of the scenario, as `points` has them"},
          [changes](YamlMap& map, T& into) {
            if (!map.optional_map("set")) return;
            for (const auto& entry : map.find("set")->entries) {
              (into.*changes).push_back({entry.key, entry.where, entry.value});
            }
          }};
}

template <class T>
Field<T> missing_key(std::string T::*missing) {
  return config::field("missing", missing, "the mechanism thought to be missing where rows miss");
}

template <class T>
Field<T> single_gpu_key(double T::*rate) {
  return config::field("single_gpu", rate, "samples/s of one GPU", config::above(0.0), "none");
}

const Fields<TrainingGate>& gate_fields() {
  using Gate = TrainingGate;
  static const Fields<Gate> fields = {
      "gate",
      "limits of the |error| of scored rows",
      {config::share("median", &Gate::median, "the median's", config::above(config::Ratio{0}),
                     required),
       config::share("p90", &Gate::p90, "the 90th percentile's", {}, "none"),
       config::share("worst", &Gate::worst, "the worst row's", {}, "none")}};
  return fields;
}

const Fields<Skipped>& skipped_fields() {
  static const Fields<Skipped> fields = {
      "skipped",
      "measurements that are no rows",
      {config::field("why", &Skipped::why, "there is no row of them", {}, required),
       config::field("ids", &Skipped::ids, "theirs")}};
  return fields;
}

/// A positive number, and what follows it.
double read_end(YamlMap& map, const std::string& key, std::string& unit) {
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

/// The tables of what names models, methods and gates are made for the file that has those.
class Reader {
 public:
  TrainingFile read(const config::YamlValue& document) {
    YamlMap map(document);
    map.require_schema(std::string(training_schema));
    file_fields().read_all(std::move(map), file_);
    return std::move(file_);
  }

 private:
  Fields<TrainingFile> file_fields() {
    using File = TrainingFile;
    return {
        "training",
        "measured training jobs",
        {config::field("name", &File::name, "the series'", {}, required),
         config::word("unit", &File::unit, training_units(), "of measured values", required),
         {{"source", required, "where they were published: any texts"},
          [](YamlMap& map, File& file) {
            YamlMap source = map.require_map("source");
            for (const auto& key : source.keys()) {
              file.source.emplace_back(key, source.require<std::string>(key));
            }
          }},
         {{"scenario", required, "what all rows start from"},
          [](YamlMap& map, File& file) {
            file.scenario = map.require_value("scenario", "a scenario that the rows change");
          }},
         {{"gates", "none", "what is claimed, by name"},
          [this](YamlMap& map, File& file) {
            auto gates = map.optional_map("gates");
            if (gates) gate_names_ = gates->keys();
            for (const std::string& name : gate_names_) {
              file.gates.push_back({.name = name});
              gate_fields().read_all(gates->require_map(name), file.gates.back());
            }
          }},
         {{"models", required, "that rows name"},
          [this](YamlMap& map, File&) {
            models_ = read_names(map.require_map("models"), {single_gpu_key(&Named::single_gpu)});
          }},
         {{"methods", required, "that rows name"},
          [this](YamlMap& map, File&) { methods_ = read_names(map.require_map("methods"), {}); }},
         {{"calibrate", "none", "constants that all groups share"},
          [this](YamlMap& map, File& file) { file.fitted = read_fitted(map); }},
         {{"groups", required, "of rows, each with its own constants"},
          [this](YamlMap& map, File& file) {
            for (YamlMap& group : map.maps("groups")) file.groups.push_back(read_group(group));
            if (file.groups.empty()) {
              map.fail("groups", "there is no group; expected at least one");
            }
          }},
         {{"skipped", "none", "measurements that are no rows"}, [](YamlMap& map, File& file) {
            for (YamlMap& item : map.maps("skipped")) {
              Skipped skipped;
              skipped_fields().read_all(item, skipped);
              for (const auto& id : skipped.ids) file.skipped.emplace_back(id, skipped.why);
            }
          }}}};
  }

  [[nodiscard]] Names read_names(YamlMap list, std::vector<Field<Named>> keys) const {
    keys.push_back(set_key(&Named::changes));
    keys.push_back(config::word("gate", &Named::gate, gate_names_, "of its rows", "the first"));
    keys.push_back(missing_key(&Named::missing));
    const Fields<Named> fields("named", "a model or a method that rows name", keys);
    Names names;
    for (const std::string& name : list.keys()) {
      fields.read_all(list.require_map(name), names[name]);
    }
    return names;
  }

  std::vector<FittedConstant> read_fitted(YamlMap& map) const {
    using Fitted = FittedConstant;
    const Fields<Fitted> fields = {
        "fitted",
        "a constant that is fitted to rows with role calibrate",
        {{{"key", required, "a dotted key of the scenario, or `compute`"},
          [](YamlMap& from, Fitted& fitted) {
            fitted.key = from.require<std::string>("key");
            fitted.where = from.find("key")->where;
          }},
         config::word("model", &Fitted::model, keys_of(models_), "counts for its rows", "all"),
         config::word("method", &Fitted::method, keys_of(methods_), "fitted to its rows", "all"),
         {{"methods", "all", "counts for their rows"},
          [this](YamlMap& from, Fitted& fitted) {
            fitted.methods = from.list<std::string>("methods");
            for (const std::string& name : fitted.methods) {
              if (methods_.contains(name)) continue;
              const auto known = keys_of(methods_);
              from.fail("methods",
                        fmt::format("'{}' is not one of this file's methods; expected {}{}", name,
                                    joined_by(known, ", "), suggestion(name, known)));
            }
          }},
         {{"from", required, "low end of the search"},
          [](YamlMap& from, Fitted& fitted) { fitted.low = read_end(from, "from", fitted.unit); }},
         {{"to", required, "high end of the search"}, [](YamlMap& from, Fitted& fitted) {
            std::string unit;
            fitted.high = read_end(from, "to", unit);
            if (fitted.unit != unit || fitted.low >= fitted.high) {
              from.fail("to", "'to' is not above 'from' in the same unit; expected such a number");
            }
          }}}};
    std::vector<Fitted> all;
    for (YamlMap& item : map.maps("calibrate")) {
      fields.read_all(item, all.emplace_back());
    }
    return all;
  }

  TrainingGroup read_group(YamlMap& map) {
    using Keys = GroupKeys;
    const Fields<Keys> fields = {
        "group",
        "rows whose own constants are fitted together",
        {config::part(&Keys::group,
                      config::field("name", &TrainingGroup::name, "its own", {}, required)),
         set_key(&Keys::changes),
         missing_key(&Keys::missing),
         {{"single_gpu", "none", "samples/s of one GPU, by model"},
          [this](YamlMap& from, Keys& keys) {
            auto single = from.optional_map("single_gpu");
            if (!single) return;
            for (const std::string& model : keys_of(models_)) {
              keys.single_gpu[model] = single->value_or(model, 0.0, config::above(0.0));
            }
            single->finish();
          }},
         {{"calibrate", "none", "constants of its own"},
          [this](YamlMap& from, Keys& keys) { keys.group.fitted = read_fitted(from); }},
         {{"rows", required, "measured jobs"}, [this](YamlMap& from, Keys& keys) {
            const Fields<TrainingRow> of_row = row_fields();
            for (YamlMap& item : from.maps("rows")) {
              of_row.read_all(item, keys.group.rows.emplace_back());
              complete(keys.group.rows.back(), keys);
            }
            if (keys.group.rows.empty()) {
              from.fail("rows", "there is no row; expected at least one");
            }
          }}}};
    Keys keys;
    fields.read_all(map, keys);
    give_single_gpu(keys.group);
    return std::move(keys.group);
  }

  Fields<TrainingRow> row_fields() {
    using Row = TrainingRow;
    return {
        "row",
        "a measured training job",
        {{{"id", required, "its own"},
          [this](YamlMap& map, Row& row) {
            row.id = map.require<std::string>("id");
            if (ids_.insert(row.id).second) return;
            map.fail("id", fmt::format("'{}' stands twice; expected each row once", row.id));
          }},
         config::word("model", &Row::model, keys_of(models_), "one of `models`", required),
         config::word("method", &Row::method, keys_of(methods_), "one of `methods`", required),
         config::field("nodes", &Row::nodes, "machines", config::at_least(1), required),
         config::field("gpus_per_node", &Row::gpus_per_node, "GPUs of each", config::at_least(1),
                       required),
         config::word("role", &Row::role, {"calibrate", "score", "show"}, "what it is for",
                      required),
         config::field("measured", &Row::measured, "in the file's unit", config::above(0.0),
                       required),
         config::field("stdev", &Row::spread, "of repeated runs", config::at_least(0.0)),
         single_gpu_key(&Row::single_gpu),
         config::word("gate", &Row::gate, gate_names_, "one of `gates`", "its method's or model's"),
         missing_key(&Row::missing),
         {{"batch", "none", "samples a GPU, in the place of the scenario's"},
          [](YamlMap& map, Row& row) {
            const config::YamlValue* batch = map.find("batch");
            if (batch == nullptr) return;
            map.require<int>("batch", config::at_least(1));
            row.changes.push_back({"profile.batch_per_gpu", batch->where, *batch});
            row.compared = " b" + batch->text;
          }},
         set_key(&Row::changes)}};
  }

  /// What a row has of its model, its method, its group and the file.
  void complete(TrainingRow& row, const GroupKeys& of) const {
    const Named& model = models_.at(row.model);
    const Named& method = methods_.at(row.method);
    const std::string first_gate = gate_names_.empty() ? "" : gate_names_.front();
    const auto first_said = [](std::initializer_list<std::string> texts) {
      const auto* const said =
          std::ranges::find_if(texts, [](const std::string& text) { return !text.empty(); });
      return said != texts.end() ? *said : "";
    };
    row.gate = first_said({row.gate, method.gate, model.gate, first_gate});
    row.missing = first_said({row.missing, method.missing, model.missing, of.missing});
    row.spread /= row.measured;
    if (row.single_gpu == 0 && of.single_gpu.contains(row.model)) {
      row.single_gpu = of.single_gpu.at(row.model);
    }
    row.compared = fmt::format("{}, {}{} on {}x{}", of.group.name, row.model, row.compared,
                               row.nodes, row.gpus_per_node);
    std::vector<config::Override> changes = model.changes;
    for (const auto& more : {of.changes, method.changes, row.changes}) {
      changes.insert(changes.end(), more.begin(), more.end());
    }
    row.changes = std::move(changes);
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
  return Reader().read(document);
}

}  // namespace gradwire::validation
