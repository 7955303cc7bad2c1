#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr const char* variables_file = "strategies/variables.yaml";  ///< in the data folder

const Fields<OriginalKnob>& knob_fields() {
  using Knob = OriginalKnob;
  using enum OriginalUnit;
  static const Fields<Knob> fields = {
      "variable",
      "an original system's variable that sets a knob of ours",
      {field("sets", &Knob::key, "our knob", {}, required),
       choice("unit", &Knob::unit,
              {{"bytes", bytes},
               {"ms", milliseconds},
               {"number", number},
               {"flag", flag},
               {"ranks", ranks},
               {"text", text}},
              "what its bare number means", required),
       field("source", &Knob::source, "where the original reads it", {}, required),
       field("when_set", &Knob::when_set,
             "what a flag of 1 puts there, in place of what another variable does", {},
             "`true`, `false`")}};
  return fields;
}

/// The variables of a system.
struct SystemKnobs {
  std::vector<std::string> strategies;
  std::vector<std::pair<std::string, OriginalKnob>> variables;
};

const Fields<SystemKnobs>& system_fields() {
  using System = SystemKnobs;
  static const Fields<System> fields = {
      "system_variables",
      "variables of an original system",
      {field("of", &System::strategies, "strategies that have them"),
       by_name("variables", &System::variables, "VARIABLE", knob_fields, "by name", required)}};
  return fields;
}

/// Variables that change no predicted time, for one reason.
struct IdleGroup {
  std::string why;
  std::string source;
  std::vector<std::string> names;
};

const Fields<IdleGroup>& idle_fields() {
  static const Fields<IdleGroup> fields = {
      "without_effect",
      "variables that change no predicted time",
      {field("why", &IdleGroup::why, "they do not", {}, required),
       field("source", &IdleGroup::source, "where they are read or described", {}, required),
       field("names", &IdleGroup::names, "of them")}};
  return fields;
}

/// A file.
struct WrittenVariables {
  std::vector<SystemKnobs> knobs;
  std::vector<IdleGroup> idle;
};

const Fields<WrittenVariables>& file_of_variables_fields() {
  using File = WrittenVariables;
  static const Fields<File> fields = {
      "variables_file",
      "environment variables of original systems",
      {inside("knobs", &File::knobs, system_fields, "that set a knob of ours, by system"),
       inside("without_effect", &File::idle, idle_fields, "that set none")}};
  return fields;
}

}  // namespace

Section variables_section() {
  return file_of_variables_fields().section();
}

Variables read_variables(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.variables/1");
  WrittenVariables written;
  file_of_variables_fields().read_all(std::move(map), written);
  Variables all;
  for (SystemKnobs& system : written.knobs) {
    for (auto& [name, knob] : system.variables) {
      knob.name = std::move(name);
      knob.strategies = system.strategies;
      all.knobs.push_back(std::move(knob));
    }
  }
  for (IdleGroup& group : written.idle) {
    for (std::string& name : group.names) {
      all.idle.push_back({std::move(name), group.why, group.source});
    }
  }
  return all;
}

const Variables& shipped_variables() {
  static const Variables all =
      read_variables(loaded_yaml((data_folder() / variables_file).string()));
  return all;
}

}  // namespace gradwire::config
