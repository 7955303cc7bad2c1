#include "sim/validation/constant_uses.hpp"

#include <stdexcept>

#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/read_files.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/validation/series.hpp"
#include "sim/validation/training_file.hpp"
#include "sim/validation/training_fit.hpp"

namespace gradwire::validation {
namespace {

/// What the scenarios of a series of training jobs read.
void read_training(const config::YamlValue& document) {
  const TrainingFile file = read_training_file(document);
  for (const TrainingGroup& group : file.groups) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const TrainingRow& row : group.rows) {
      if (!seen.emplace(row.model, row.method).second) continue;
      try {
        static_cast<void>(scenario_of(file, row, {}));
      } catch (const std::runtime_error&) {  // `validate` tells of rows without a prediction
        seen.erase({row.model, row.method});
      }
    }
  }
}

}  // namespace

ConstantUses constant_uses() {
  ConstantUses uses;
  for (const SeriesEntry& entry : series_catalogue()) {
    const std::string name(entry.name);
    const config::YamlValue& document = config::loaded_yaml(reference_file(name + ".yaml"));
    const config::YamlValue* schema = document.find("schema");
    const config::ReadFiles read;
    if (schema->text == training_schema) read_training(document);
    if (name == "collectives") {
      static_cast<void>(config::read_collective_measurements(document));
    }
    for (const auto& [file, digest] : read.digests()) uses[file].insert(name);
  }
  return uses;
}

}  // namespace gradwire::validation
