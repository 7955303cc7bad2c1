#include <map>
#include <set>
#include <string>

#include "sim/config/yaml/yaml_value.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using config::YamlValue;

namespace {

std::string text(const YamlValue& row, const char* key) {
  const YamlValue* value = row.find(key);
  return value != nullptr && value->text != "null" ? value->text : "";
}

/// The rate of one GPU that a published row states, as written; "" when it states none.
std::string single_gpu_rate(const YamlValue& row) {
  if (text(row, "total_gpus") != "1") return text(row, "single_gpu_value");
  const YamlValue* parameters = row.find("parameters");
  const std::string printed =
      parameters != nullptr ? text(*parameters, "examples_per_s_per_gpu") : "";
  return printed.empty() ? text(row, "value") : printed;
}

/// What makes two rows the same fact.
std::string fact(const YamlValue& row) {
  std::string key;
  for (const char* part : {"source", "model", "gpu", "per_gpu_batch", "precision"}) {
    key += text(row, part) + "|";
  }
  return key;
}

}  // namespace

TEST_CASE("the rows of one GPU are those of the collection, none left out in silence",
          "[models][single_gpu]") {
  const auto collection = test::shared("data/measurements/training.yaml");
  if (test::skipped_without(collection)) return;
  const YamlValue reference =
      config::load_yaml(GRADWIRE_SOURCE_DIR "/results/reference/single_gpu.yaml");
  std::map<std::string, std::string> rates;
  for (const YamlValue& row : reference.find("rows")->items) {
    rates[text(row, "id")] = text(row, "rate");
  }
  std::set<std::string> listed;
  for (const auto& [id, rate] : rates) listed.insert(id);
  for (const YamlValue& skipped : reference.find("skipped")->items) {
    for (const YamlValue& id : skipped.find("ids")->items) listed.insert(id.text);
  }
  const YamlValue published = config::load_yaml(collection.string());
  std::set<std::string> facts;
  std::size_t found = 0;
  for (const YamlValue& row : published.items) {
    const auto rate = rates.find(text(row, "id"));
    if (listed.contains(text(row, "id"))) facts.insert(fact(row));
    if (rate == rates.end()) continue;
    INFO(rate->first);
    CHECK(std::stod(single_gpu_rate(row)) == Approx(std::stod(rate->second)));
    ++found;
  }
  CHECK(found == rates.size());
  for (const YamlValue& row : published.items) {
    if (single_gpu_rate(row).empty()) continue;
    INFO(text(row, "id"));
    CHECK(facts.contains(fact(row)));
  }
}
