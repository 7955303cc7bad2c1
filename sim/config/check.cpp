#include "sim/config/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/config/calibrated_jobs_yaml.hpp"
#include "sim/config/catalogue.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/collective/collective_measurements_yaml.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/collective/constant_sets.hpp"
#include "sim/config/profile/compressor_costs_yaml.hpp"
#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/efficiencies_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/profile/model_yaml.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/scenario_document.hpp"
#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

/// A scenario needs a profile and a strategy only where something is trained; `collective` and
/// `show topology` take it without.
Needs needs_of(const YamlValue& document) {
  const bool cluster_only =
      document.find("profile") == nullptr && document.find("strategy") == nullptr;
  return cluster_only ? Needs::cluster_only : Needs::everything;
}

void check_scenario(const std::string& file) {
  const ScenarioDocument document = load_scenario(file, {});
  const std::vector<Axis> axes = sweep_axes(document.yaml);
  if (axes.empty()) {
    static_cast<void>(read_scenario(file, {}, needs_of(document.yaml)));
    return;
  }
  for (const auto& varied : axes) {
    for (const YamlValue* value : varied.values) {
      SweepPoint point;
      for (const auto& axis : axes) {
        point.emplace_back(axis.path, to_text(&axis == &varied ? *value : *axis.values.front()));
      }
      static_cast<void>(read_sweep_point(document, point));
    }
  }
}

struct Schema {
  std::string name;
  void (*check)(const YamlValue& document);
};

template <auto read>
void reads(const YamlValue& document) {
  static_cast<void>(read(document));
}

const std::vector<Schema>& schemas() {
  static const std::vector<Schema> known = {
      {"gradwire.scenario/1",
       [](const YamlValue& document) { check_scenario(document.where.file); }},
      {"gradwire.compute_profile/1", reads<read_profile>},
      {"gradwire.gpu/1", reads<read_gpu>},
      {"gradwire.efficiencies/1", reads<read_efficiencies>},
      {"gradwire.constants/1", reads<read_constants>},
      {"gradwire.compressor_costs/1", reads<read_compressor_costs>},
      {"gradwire.model/1", reads<read_model_file>},
      {"gradwire.decoders/1", reads<read_decoders>},
      {"gradwire.hosts/1", reads<read_hosts>},
      {"gradwire.links/1", reads<read_link_tables>},
      {"gradwire.node_topology/1", reads<read_node>},
      {"gradwire.cluster_topology/1", reads<read_cluster_topology>},
      {"gradwire.collective_table/1", reads<read_collective_table>},
      {"gradwire.calibrated/1", reads<read_calibrated_jobs>},
      {"gradwire.presets/1", reads<read_presets>},
      {"gradwire.variables/1", reads<read_variables>},
      {"gradwire.collective_measurements/1", reads<read_collective_measurements>},
  };
  return known;
}

void check_document(const YamlValue& document) {
  const std::string schema = YamlMap(document).require_choice("schema", names_of(schemas()));
  std::ranges::find(schemas(), schema, &Schema::name)->check(document);
}

}  // namespace

void check_file(const std::string& file) {
  check_document(loaded_yaml(file));
}

std::string checked(std::string text, const std::string& output, const std::string& input) {
  try {
    check_document(parse_yaml(text, output));
  } catch (const ConfigError& error) {
    throw ConfigError({input, 0, 0},
                      fmt::format("makes a file that could not be read again ({}); expected "
                                  "values that 'gradwire check' accepts",
                                  error.what()));
  }
  return text;
}

}  // namespace gradwire::config
