#include "sim/config/file_kinds.hpp"

#include <algorithm>

#include "sim/config/calibrated_jobs_yaml.hpp"
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

template <auto read>
void reads(const YamlValue& document) {
  static_cast<void>(read(document));
}

void add(const Section& section, std::vector<Section>& all);

void add(const ValueInfo& value, std::vector<Section>& all) {
  if (value.section) add(value.section(), all);
  for (const auto* others : {&value.or_else, &value.item}) {
    for (const ValueInfo& other : *others) add(other, all);
  }
}

void add(const Section& section, std::vector<Section>& all) {
  if (std::ranges::find(all, section.name, &Section::name) != all.end()) return;
  all.push_back(section);
  for (const KeyInfo& key : section.keys) add(key.value, all);
  for (const Variant& variant : section.variants) {
    for (const KeyInfo& key : variant.keys) add(key.value, all);
  }
  if (section.others) add(section.others->value, all);
}

void add(const FileKind& kind, std::vector<Section>& all) {
  Section whole = kind.keys();
  whole.keys.insert(whole.keys.begin(),
                    {"schema", required, "what the file is", among({kind.name})});
  add(whole, all);
}

}  // namespace

const std::vector<FileKind>& file_kinds() {
  static const std::vector<FileKind> kinds = {
      {"gradwire.scenario/1",
       [](const YamlValue& document) { check_scenario(document.where.file); }, scenario_section},
      {"gradwire.compute_profile/1", reads<read_profile>, profile_file_section},
      {"gradwire.collective_table/1", reads<read_collective_table>, collective_table_section},
      {"gradwire.compressor_costs/1", reads<read_compressor_costs>, compressor_costs_section},
      {"gradwire.gpu/1", reads<read_gpu>, gpu_file_section},
      {"gradwire.efficiencies/1", reads<read_efficiencies>, efficiencies_section},
      {"gradwire.node_topology/1", reads<read_node>, node_section},
      {"gradwire.cluster_topology/1", reads<read_cluster_topology>, cluster_file_section},
      {"gradwire.links/1", reads<read_link_tables>, links_section},
      {"gradwire.hosts/1", reads<read_hosts>, hosts_section},
      {"gradwire.model/1", reads<read_model_file>, model_section},
      {"gradwire.decoders/1", reads<read_decoders>, decoders_section},
      {"gradwire.constants/1", reads<read_constants>, constants_section},
      {"gradwire.presets/1", reads<read_presets>, presets_section},
      {"gradwire.variables/1", reads<read_variables>, variables_section},
      {"gradwire.calibrated/1", reads<read_calibrated_jobs>, calibrated_section},
      {"gradwire.collective_measurements/1", reads<read_collective_measurements>,
       measurements_section},
  };
  return kinds;
}

std::vector<Section> sections_of(const FileKind& kind) {
  std::vector<Section> all;
  add(kind, all);
  return all;
}

std::vector<Section> all_sections() {
  std::vector<Section> all;
  for (const FileKind& kind : file_kinds()) add(kind, all);
  return all;
}

}  // namespace gradwire::config
