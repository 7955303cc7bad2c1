#include "sim/config/scenario_document.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include "sim/core/budgets.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/config/cluster/world_sizes.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/strategy/elastic_yaml.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::config {
namespace {

using Json = nlohmann::ordered_json;

std::string text_at(const YamlValue& document, const std::string& section, const std::string& key) {
  const YamlValue* map = document.find(section);
  const YamlValue* value = map == nullptr ? nullptr : map->find(key);
  return value == nullptr ? "" : value->text;
}

/// A release is that of one system: another one's means something else.
constexpr const char* release_key = "version";

/// Whoever names it means that nothing of the other strategy counts.
constexpr const char* no_strategy = "none";

template <class Entry>
bool has_knob(const std::vector<Entry>& catalogue, const std::string& name,
              const std::string& knob) {
  const auto entry = std::ranges::find(catalogue, name, &Entry::name);
  if (entry == catalogue.end()) return false;
  const auto& parameters = parameters_of(*entry);
  return std::ranges::find(parameters, knob, &KeyInfo::name) != parameters.end();
}

/// What a section chose, and how to forget the knobs of the former choice.
template <class Entry>
class Choice {
 public:
  /// @param chosen  names the choice of a document.
  Choice(const YamlValue& document, std::string section, const std::vector<Entry>& catalogue,
         std::function<std::string(const YamlValue&)> chosen)
      : section_(std::move(section)),
        catalogue_(catalogue),
        chosen_(std::move(chosen)),
        former_(chosen_(document)) {}

  void forget_former(ScenarioDocument& document, const std::vector<Override>& changes) const {
    YamlValue& yaml = document.yaml;
    const std::string now = chosen_(yaml);
    const auto section = std::ranges::find(yaml.entries, section_, &YamlEntry::key);
    if (now == former_ || section == yaml.entries.end()) return;
    std::vector<std::string> left_out;
    std::erase_if(section->value.entries, [&](const YamlEntry& entry) {
      const std::string path = section_ + "." + entry.key;
      const bool set_here = std::ranges::any_of(changes, [&](const Override& change) {
        return change.path == section_ || (change.path + ".").starts_with(path + ".");
      });
      const bool kept = has_knob(catalogue_, now, entry.key) && entry.key != release_key;
      const bool forgotten = !set_here && has_knob(catalogue_, former_, entry.key) && !kept;
      if (forgotten) left_out.push_back(entry.key);
      return forgotten;
    });
    if (left_out.empty() || now == no_strategy) return;
    document.warnings.push_back(
        {"knobs-left-out", fmt::format("{}: '{}' does without what the scenario sets of '{}': {}",
                                       section_, now, former_, joined_by(left_out, ", "))});
  }

 private:
  std::string section_;
  const std::vector<Entry>& catalogue_;
  std::function<std::string(const YamlValue&)> chosen_;
  std::string former_;
};

bool changes_key(const std::vector<Override>& changes, const std::string& path) {
  return std::ranges::find(changes, path, &Override::path) != changes.end();
}

/// A strategy is named by `name` or by `preset`: the one that an override gives takes the place of
/// another strategy's that the document had by the other.
void forget_other_name(YamlValue& document, const std::vector<Override>& changes) {
  const bool name = changes_key(changes, "strategy.name");
  const bool preset = changes_key(changes, "strategy.preset");
  const auto strategy = std::ranges::find(document.entries, "strategy", &YamlEntry::key);
  if (name == preset || strategy == document.entries.end()) return;
  const auto found = find_preset(text_at(document, "strategy", "preset"));
  if (!found) return;
  const YamlValue* of_preset = found->strategy.find("name");
  if (text_at(document, "strategy", "name") == of_preset->text) return;
  remove_key(strategy->value, name ? "preset" : "name");
}

/// @param is_text  a release stays as it is written: 2.10 is not 2.1.
Json json_of(const YamlValue& value, bool is_text = false) {
  switch (value.kind) {
    case YamlValue::Kind::scalar: {
      if (value.quoted || is_text) return value.text;
      auto plain = Json::parse(value.text, nullptr, false);
      return plain.is_discarded() || plain.is_structured() || plain.is_string() ? Json(value.text)
                                                                                : plain;
    }
    case YamlValue::Kind::list: {
      Json list = Json::array();
      for (const auto& item : value.items) list.push_back(json_of(item, is_text));
      return list;
    }
    case YamlValue::Kind::map: {
      std::map<std::string, Json> map;  // sorted: the digest of a scenario must not hang on order
      for (const auto& entry : value.entries) {
        map.insert_or_assign(entry.key, json_of(entry.value, entry.key.ends_with("version")));
      }
      return map;
    }
    case YamlValue::Kind::empty:
      break;
  }
  return nullptr;
}

}  // namespace

void apply_all(ScenarioDocument& document, const std::vector<Override>& changes) {
  YamlValue& yaml = document.yaml;
  const Choice strategy(yaml, "strategy", strategy_catalogue(), strategy_named);
  const Choice library(yaml, "collective", collective_catalogue(), [](const YamlValue& scenario) {
    return text_at(scenario, "collective", "library");
  });
  for (const auto& change : changes) apply(yaml, change);
  forget_other_name(yaml, changes);
  strategy.forget_former(document, changes);
  library.forget_former(document, changes);
}

ScenarioDocument load_scenario(const std::string& file, const std::vector<std::string>& sets) {
  ScenarioDocument document{.label = "", .yaml = load_yaml(file)};
  YamlMap(document.yaml).require_schema("gradwire.scenario/1");
  std::vector<Override> changes;
  changes.reserve(sets.size());
  for (const auto& assignment : sets) changes.push_back(parse_set(assignment));
  apply_all(document, changes);
  return document;
}

void remove_key(YamlValue& map, const std::string& key) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
}

namespace {

std::vector<ScenarioDocument> phase_documents(const ScenarioDocument& document,
                                              const YamlValue& elastic) {
  std::vector<ScenarioDocument> documents;
  const std::size_t count = read_elastic(elastic).phases.size();
  while (documents.size() < count) {
    ScenarioDocument one = document;
    one.phase = documents.size();
    one.label = fmt::format("phase {}", documents.size() + 1);
    documents.push_back(std::move(one));
  }
  return documents;
}

}  // namespace

std::vector<ScenarioDocument> point_documents(ScenarioDocument document) {
  YamlMap map(document.yaml);
  if (map.has("vary")) {
    map.fail("vary", "'vary' is for 'gradwire sweep'; expected a scenario without it");
  }
  const YamlValue* written = map.find("points");
  if (const YamlValue* elastic = map.find("elastic")) {
    if (written != nullptr) {
      map.fail("points", "'points' beside 'elastic'; expected one of the two");
    }
    return phase_documents(document, *elastic);
  }
  if (written == nullptr) return {std::move(document)};
  const bool by_size = written->kind == YamlValue::Kind::map;
  YamlValue points = *written;
  if (!by_size) map.maps("points");  // checks that it is a list of mappings
  if (by_size) {
    remove_key(document.yaml, "points");
    points = points_of_world_sizes(document.yaml, points);
  }
  if (points.items.empty()) map.fail("points", "'points' has no item; expected at least one");
  remove_key(document.yaml, "points");
  std::vector<ScenarioDocument> documents;
  for (const auto& point : points.items) {
    const YamlValue* label = point.find("label");
    std::vector<Override> changes;
    for (const auto& entry : point.entries) {
      if (entry.key != "label") changes.push_back({entry.key, entry.where, entry.value});
    }
    ScenarioDocument one = document;
    one.label = label != nullptr ? read_value<std::string>(*label, "label")
                                 : fmt::format("point {}", documents.size() + 1);
    apply_all(one, changes);
    documents.push_back(std::move(one));
  }
  return documents;
}

std::vector<Axis> sweep_axes(const YamlValue& document) {
  YamlMap map(document);
  const auto vary = map.optional_map("vary");
  if (!vary) return {};
  if (map.has("points")) {
    map.fail("points", "'points' beside 'vary'; expected one of the two");
  }
  std::vector<Axis> axes;
  std::size_t values = 0;
  double points = 1;
  for (const auto& entry : document.find("vary")->entries) {
    if (entry.value.kind != YamlValue::Kind::list || entry.value.items.empty()) {
      throw ConfigError(
          entry.value.where,
          fmt::format(
              "'{}' is {}; expected a list of values to try", entry.key,
              entry.value.kind == YamlValue::Kind::list ? "an empty list" : describe(entry.value)));
    }
    values += entry.value.items.size();
    points *= static_cast<double>(entry.value.items.size());
    if (values > sweep_values.most) {
      throw ConfigError(entry.value.where,
                        fmt::format("'vary' has {}; expected fewer", over(sweep_values)));
    }
    Axis axis{entry.key, entry.where, {}};
    for (const auto& value : entry.value.items) axis.values.push_back(&value);
    axes.push_back(std::move(axis));
  }
  if (points > static_cast<double>(sweep_combinations.most)) {
    throw ConfigError(document.find("vary")->where,
                      fmt::format("'vary' asks for {:.6g} combinations: {}; expected fewer", points,
                                  over(sweep_combinations)));
  }
  return axes;
}

ScenarioDocument sweep_document(ScenarioDocument document,
                                const std::vector<std::pair<std::string, std::string>>& point) {
  const std::vector<Axis> axes = sweep_axes(document.yaml);
  std::vector<Override> changes;
  for (const auto& [path, text] : point) {
    const auto axis = std::ranges::find(axes, path, &Axis::path);
    assert(axis != axes.end());
    const auto value = std::ranges::find_if(
        axis->values, [&text = text](const YamlValue* known) { return to_text(*known) == text; });
    assert(value != axis->values.end());
    changes.push_back({path, axis->where, **value});
    document.label += fmt::format("{}{}={}", document.label.empty() ? "" : ", ", path, text);
  }
  remove_key(document.yaml, "vary");
  apply_all(document, changes);
  return document;
}

std::string to_json(const YamlValue& document) {
  return json_of(document).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string sha256(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }
  std::string hexadecimal;
  for (unsigned int i = 0; i < size; ++i) hexadecimal += fmt::format("{:02x}", digest[i]);
  return hexadecimal;
}

}  // namespace gradwire::config
