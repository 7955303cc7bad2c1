#include "sim/config/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "sim/config/cluster/cluster_variables.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/cluster/ranks_yaml.hpp"
#include "sim/config/cluster/worker_classes.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/collective/machine_constants_yaml.hpp"
#include "sim/config/profile/compressor_costs_yaml.hpp"
#include "sim/config/profile/profile_key.hpp"
#include "sim/config/scenario_document.hpp"
#include "sim/config/scenario_keys.hpp"
#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/strategy/ddl_benchmarks_settings.hpp"
#include "sim/config/strategy/elastic_yaml.hpp"
#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/config/strategy/servers_yaml.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

/// The servers of a strategy that has some: they are part of the cluster, which is read before.
std::optional<ServerSpec> strategy_servers(const YamlValue& document) {
  const YamlValue* strategy = document.find("strategy");
  if (strategy == nullptr || strategy->kind != YamlValue::Kind::map) return std::nullopt;
  const YamlValue* name = strategy->find("name");
  const StrategyEntry* entry = name == nullptr ? nullptr : find_strategy(name->text);
  if (entry == nullptr || !entry->flags.servers) return std::nullopt;
  YamlMap map(*strategy, "strategy");
  return read_servers(map);
}

/// A model of so many times the elements that were coded at most is far from what was measured:
/// assumed, for the warning alone.
constexpr std::int64_t far_times = 10;

/// Where times are taken as proportional and nothing told what launches cost, most of a short row
/// may be launches: tell where the model is far longer.
void warn_of_extrapolation(const std::string& compressor, std::vector<CompressorTable> tables,
                           Scenario& scenario) {
  std::erase_if(tables, [&](const CompressorTable& table) {
    return table.compressor != compressor || table.device != CodecDevice::gpu ||
           table.rows.empty() || table.constant_below;
  });
  if (tables.empty() || !scenario.profile) return;
  std::int64_t most = 0;
  for (const auto& table : tables) most = std::max(most, table.rows.back().elements);
  const std::int64_t all = scenario.profile->parameter_count();
  if (all < far_times * most) return;
  scenario.warnings.push_back(
      {"compressor-extrapolated",
       fmt::format("'{}' was measured with at most {} elements, the model has {}: its times, in "
                   "proportion, may be several times too long; 'compressor_costs' takes your own",
                   compressor, most, all)});
}

/// The costs of compressors that a scenario names are meant: tell where they do not count, and
/// where those that do are far from the model.
void warn_of_costs(const YamlValue& document, const std::vector<CompressorTable>& own,
                   Scenario& scenario) {
  const YamlValue* compression = document.find("strategy")->find("compression");
  const YamlValue* named = compression == nullptr ? nullptr : compression->find("name");
  const std::string& name = named == nullptr ? scenario.strategy_name : named->text;
  const auto entry = std::ranges::find(compression_catalogue(), name, &CompressionEntry::name);
  if (entry == compression_catalogue().end()) return;
  const std::string& compressor = entry->measured_as;
  const bool is_own = std::ranges::find(own, compressor, &CompressorTable::compressor) != own.end();
  if (is_own) warn_of_extrapolation(compressor, own, scenario);
  if (own.empty() || is_own) return;
  scenario.warnings.push_back(
      {"compressor-not-measured",
       compressor.empty()
           ? fmt::format("'{}' takes no times of 'compressor_costs': its work is counted", name)
           : fmt::format("'compressor_costs' has no table of '{}': '{}' takes what it would "
                         "without",
                         compressor, name)});
}

/// Bytes of an element of the gradients that the strategy exchanges, where they are to be of
/// `type`.
/// @param optional  where they cannot be of that type they are of fp32, and a warning says so.
std::int64_t gradient_size(const std::string& type, const YamlMap& map, const StrategyEntry& entry,
                           bool optional, std::vector<Warning>& warnings) {
  if (type == StrategyKeys{}.gradient_dtype) return gradient_element_size;
  std::string why;
  if (!entry.flags.any_dtype) {
    why = fmt::format("'{}' exchanges fp32", entry.name);
  } else if (map.has("compression")) {
    why = "'compression' codes fp32";
  }
  if (why.empty()) return half_element_size;
  if (!optional) {
    map.fail("gradient_dtype",
             fmt::format("'gradient_dtype' is '{}', and {}; expected fp32", type, why));
  }
  warnings.push_back({"gradient-dtype-left-out", "runs with gradients of fp32: " + why});
  return gradient_element_size;
}

/// The type of gradients where the strategy says none: the weights' own, where it can be another
/// than fp32. DeepSpeed makes the model one of fp16 or bf16 where it is told of them.
std::string own_gradient_dtype(const YamlMap& map, const StrategyEntry& entry,
                               const Scenario& scenario) {
  if (!scenario.profile || !entry.flags.any_dtype || map.has("compression")) {
    return StrategyKeys{}.gradient_dtype;
  }
  const std::string& dtype = scenario.profile->dtype;
  const bool model = entry.flags.half_model && (dtype == "fp16" || dtype == "bf16");
  return model || !scenario.profile->master_weights ? dtype : StrategyKeys{}.gradient_dtype;
}

/// @param yaml  the document's, in our words.
void read_strategy_key(const ScenarioDocument& document, const YamlValue& yaml, YamlMap map,
                       const std::vector<CompressorTable>& own_costs, Scenario& scenario) {
  scenario.strategy_name = map.require_choice("name", names_of(strategy_catalogue()));
  const StrategyEntry& entry = *find_strategy(scenario.strategy_name);
  if (entry.flags.servers) map.find("servers");  // read with the cluster
  StrategyKeys keys;
  strategy_fields().read(map, keys);
  if (!map.has("gradient_dtype")) keys.gradient_dtype = own_gradient_dtype(map, entry, scenario);
  scenario.grad_accumulation = keys.grad_accumulation;
  const std::int64_t element_size = gradient_size(
      keys.gradient_dtype, map, entry, document.gradient_dtype_optional, scenario.warnings);
  YamlKnobs knobs(std::move(map), &scenario.warnings);
  std::string left_out;
  const StrategyMaker make =
      read_strategy(entry, knobs, document.compression_optional ? &left_out : nullptr);
  knobs.finish();
  if (left_out.empty()) {
    warn_of_costs(yaml, own_costs, scenario);
  } else {
    scenario.warnings.push_back(
        {"compression-left-out", "runs without the scenario's compression: " + left_out});
  }
  if (!scenario.profile) return;
  scenario.make_strategy = [make, element_size,
                            weight_size = scenario.profile->master_weights ? gradient_element_size
                                                                           : half_element_size,
                            costs = encode_costs(scenario.gpu, own_costs)](JobView job) {
    job.encode_costs = costs;
    job.element_size = element_size;
    job.weight_size = weight_size;
    job.cpu = shipped_cpu();
    job.host_offload = shipped_offload();
    return make(job);
  };
}

/// The strategy under which the profile's time was measured, where one is told.
/// @param yaml  the document's, in our words.
void read_iteration_strategy(const ScenarioDocument& document, const YamlValue& yaml,
                             const std::vector<CompressorTable>& own_costs, Scenario& scenario) {
  if (!scenario.timed_under) return;
  const char* key = "iteration_strategy";
  const YamlValue& told = *yaml.find("profile")->find(key);
  Scenario alone = scenario;
  read_strategy_key(document, yaml, YamlMap(told, key), own_costs, alone);
  if (find_strategy(alone.strategy_name)->flags.servers) {
    throw ConfigError(
        told.where, fmt::format("'{}' is '{}', which has servers; expected a strategy without", key,
                                alone.strategy_name));
  }
  if (alone.strategy_name == "none") {
    scenario.timed_under.reset();
  } else {
    scenario.timed_under->make_strategy = std::move(alone.make_strategy);
  }
}

/// Where `key` of a mapping of the scenario stands, else the mapping itself; unknown without one.
SourceLocation place_of(const YamlValue& yaml, const std::string& section,
                        std::initializer_list<const char*> keys) {
  const YamlValue* map = yaml.find(section);
  if (map == nullptr) return {};
  for (const char* key : keys) {
    if (const YamlValue* value = map->find(key)) return value->where;
  }
  return map->where;
}

std::map<UnsupportedConfiguration::Key, SourceLocation> places_of(const YamlValue& yaml) {
  const SourceLocation strategy = place_of(yaml, "strategy", {"preset", "name"});
  const SourceLocation library = place_of(yaml, "collective", {"library"});
  return {
      {UnsupportedConfiguration::Key::strategy, strategy},
      {UnsupportedConfiguration::Key::library, library.file.empty() ? strategy : library},
      {UnsupportedConfiguration::Key::cluster, place_of(yaml, "cluster", {})},
      {UnsupportedConfiguration::Key::fidelity, place_of(yaml, "run", {"fidelity"})},
      {UnsupportedConfiguration::Key::profile, place_of(yaml, "profile", {"iteration_strategy"})}};
}

/// @param yaml  the document's, in our words. @return the workers of the document's phase.
Placement read_elastic_key(const ScenarioDocument& document, const YamlValue& yaml,
                           const YamlValue& elastic, const ClusterSpec& cluster,
                           Scenario& scenario) {
  if (!document.phase) {
    throw ConfigError(elastic.where,
                      "'elastic' is for 'gradwire run'; expected a scenario without it");
  }
  if (const YamlValue* placement = yaml.find("placement")) {
    throw ConfigError(placement->where,
                      "'placement' beside 'elastic', which places workers itself; expected one of "
                      "the two");
  }
  const YamlValue* strategy = yaml.find("strategy");
  const YamlValue* server = strategy == nullptr ? nullptr : strategy->find("config_server");
  if (server == nullptr || server->text.empty()) {
    throw ConfigError(elastic.where,
                      "'elastic' without a server that workers learn their number from; expected "
                      "a strategy with 'config_server': kungfu_sync or kungfu_sma");
  }
  const ElasticSpec spec = read_elastic(elastic);
  const auto placements = elastic_placements(spec, cluster.gpus);
  scenario.elastic = {.steps = spec.phases[*document.phase].steps,
                      .machines = static_cast<int>(cluster.gpus.size()),
                      .worker_start = spec.worker_start.value_or(Seconds{}),
                      .retries = spec.retries};
  return placements[*document.phase];
}

Scenario read_document(const ScenarioDocument& document, const std::string& file, Needs needs,
                       const RunSpec& fallback = {}) {
  YamlValue yaml = document.yaml;
  std::vector<Warning> variables;
  translate_ddl_benchmarks_settings(yaml);
  translate_original_knobs(yaml, variables);
  expand_preset(yaml);
  YamlMap map(yaml);
  map.declare({"schema"});
  map.declare(names_of(scenario_section().keys));
  map.require_schema("gradwire.scenario/1");
  map.refuse("events");
  Scenario scenario;
  scenario.label = document.label;
  scenario.warnings = document.warnings;
  scenario.warnings.insert(scenario.warnings.end(), variables.begin(), variables.end());
  scenario.places = places_of(document.yaml);
  scenario.name = map.value_or<std::string>("name", std::filesystem::path(file).stem().string());
  if (scenario.name.empty()) map.fail("name", "'name' is empty; expected a text, or no such key");
  const bool training = needs == Needs::everything;
  if (training || map.has("profile")) read_profile_key(map, scenario);
  const ClusterSpec cluster = read_cluster(map, strategy_servers(yaml));
  scenario.cluster = cluster.cluster;
  const YamlValue* elastic = map.find("elastic");
  scenario.placement = elastic == nullptr
                           ? read_placement(map, cluster)
                           : read_elastic_key(document, yaml, *elastic, cluster, scenario);
  scenario.servers = cluster.servers;
  if (scenario.profile) {
    give_worker_classes(scenario, map.require_value("cluster", "a mapping").where);
  }
  const std::vector<CompressorTable> own_costs = read_compressor_costs_key(map);
  if (training || map.has("strategy")) {
    read_strategy_key(document, yaml, map.require_map("strategy"), own_costs, scenario);
    read_iteration_strategy(document, yaml, own_costs, scenario);
    if (const YamlValue* written = document.yaml.find("strategy")) {
      check_cluster_variables(*written, scenario.placement, scenario.warnings);
    }
  }
  scenario.library = read_collective(map, scenario.cluster, scenario.warnings);
  scenario.run = fallback;
  if (auto run = map.optional_map("run")) run_fields().read_all(*run, scenario.run);
  read_ranks(map, scenario);
  map.finish();
  scenario.json = to_json(document.yaml);
  scenario.sha256 = sha256(scenario.json);
  return scenario;
}

}  // namespace

std::vector<Scenario> read_scenario(const std::string& file, const std::vector<std::string>& sets,
                                    Needs needs) {
  ScenarioDocument written = load_scenario(file, sets);
  const auto documents = point_documents(written);
  if (written.yaml.find("points") != nullptr) {
    // The file must stand by itself, so that its mistakes are reported in its own terms, not in
    // those of a point that takes another strategy.
    remove_key(written.yaml, "points");
    read_document(written, file, needs);
  }
  std::vector<Scenario> scenarios;
  scenarios.reserve(documents.size());
  for (const auto& document : documents) scenarios.push_back(read_document(document, file, needs));
  return scenarios;
}

Scenario read_scenario(YamlValue yaml, const std::vector<Override>& changes) {
  ScenarioDocument document{.label = "", .yaml = std::move(yaml)};
  apply_all(document, changes);
  return read_document(document, document.yaml.where.file, Needs::everything);
}

std::vector<SweepPoint> sweep_points(const std::string& file,
                                     const std::vector<std::string>& sets) {
  const ScenarioDocument document = load_scenario(file, sets);
  const std::vector<Axis> axes = sweep_axes(document.yaml);
  if (axes.empty()) return {};
  std::vector<SweepPoint> points(1);
  for (const auto& axis : axes) {
    std::vector<SweepPoint> longer;
    for (const auto& point : points) {
      for (const YamlValue* value : axis.values) {
        longer.push_back(point);
        longer.back().emplace_back(axis.path, to_text(*value));
      }
    }
    points = std::move(longer);
  }
  return points;
}

Scenario read_sweep_point(const std::string& file, const std::vector<std::string>& sets,
                          const SweepPoint& point) {
  return read_document(sweep_document(load_scenario(file, sets), point), file, Needs::everything);
}

Scenario read_sweep_point(const ScenarioDocument& document, const SweepPoint& point) {
  return read_document(sweep_document(document, point), document.yaml.where.file,
                       Needs::everything);
}

std::vector<std::string> point_labels(const std::string& file,
                                      const std::vector<std::string>& sets) {
  std::vector<std::string> labels;
  for (const auto& document : point_documents(load_scenario(file, sets))) {
    labels.push_back(document.label);
  }
  return labels;
}

Scenario read_contender(const std::string& file, const std::vector<std::string>& sets,
                        const std::string& label, const Contender& contender,
                        const RunSpec& fallback) {
  auto documents = point_documents(load_scenario(file, sets));
  const auto document = std::ranges::find(documents, label, &ScenarioDocument::label);
  assert(document != documents.end());
  document->phase.reset();  // so that `elastic` is refused
  document->label = contender.name;
  // What the scenario says of compression and of the gradients' type is meant for the strategies
  // that can have it, and not to keep the others out. Of its own strategy it has to be right.
  const bool same_strategy = contender.choice == strategy_named(document->yaml);
  const bool compresses = contender.strategy.find("compression") != nullptr;
  document->compression_optional = !same_strategy && !compresses;
  document->gradient_dtype_optional = !same_strategy || compresses;
  translate_ddl_benchmarks_settings(document->yaml);  // they are of the job, not of its strategy
  put_contender(document->yaml, contender);
  return read_document(*document, file, Needs::everything, fallback);
}

}  // namespace gradwire::config
