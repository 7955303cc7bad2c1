#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/lists.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/cli/outputs.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/config/catalogue.hpp"
#include "sim/config/cluster/cluster_yaml.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/cluster/link_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/cluster/topology_catalogue.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/file_kinds.hpp"
#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "topologies/links.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;
using config::DataKind;

/// Any catalogue of config/: name, summary, parameters.
template <class Entry>
void append_catalogue(Json& list, const std::string& kind, const std::vector<Entry>& catalogue) {
  for (const Entry& entry : catalogue) {
    list.push_back({{"name", entry.name},
                    {"kind", kind},
                    {"summary", entry.summary},
                    {"parameters", options_json(config::parameters_of(entry))}});
  }
}

Json strategies() {
  Json list = Json::array();
  append_catalogue(list, "strategy", config::strategy_catalogue());
  for (Json& entry : list) {
    entry["exactness"] =
        name_of(config::find_strategy(entry["name"].get<std::string>())->exactness);
  }
  append_catalogue(list, "compression", config::compression_catalogue());
  return list;
}

/// A shipped table of measured collectives.
Json table_json(const std::string& name) {
  const CollectiveTable table = config::read_collective_table(
      config::loaded_yaml(config::data_file(DataKind::collective_table, name).string()));
  Json entries = Json::array();
  std::vector<std::string> parts;
  for (const MeasuredSeries& series : table.series) {
    entries.push_back({{"op", name_of(series.op)},
                       {"ranks", series.ranks},
                       {"nodes", series.machines},
                       {"rows", series.rows.size()},
                       {"source", series.source.file}});
    parts.push_back(fmt::format("{} {}x{}", name_of(series.op), series.machines,
                                series.ranks / series.machines));
  }
  return {{"name", name},
          {"kind", "table"},
          {"summary", fmt::format("{} on {}: {}{}", table.library, table.gpu,
                                  joined_by(parts, ", "), table.fits.empty() ? "" : "; with fits")},
          {"entries", entries}};
}

Json collectives() {
  Json list = Json::array();
  for (const CollectiveKind kind : collective_kinds()) {
    std::vector<std::string_view> able;
    for (const Algorithm& algorithm : algorithms()) {
      if (find_algorithm(algorithm.name, kind) != nullptr) able.push_back(algorithm.name);
    }
    list.push_back({{"name", name_of(kind)},
                    {"kind", "operation"},
                    {"summary", fmt::format("by {}", joined_by(able, ", "))},
                    {"algorithms", able}});
  }
  for (const Algorithm& algorithm : algorithms()) {
    Json does = Json::array();
    for (const AlgorithmVariant& variant : algorithm.variants) {
      does.push_back({{"op", name_of(variant.kind)},
                      {"steps", variant.steps},
                      {"bytes_per_rank", variant.bytes_per_rank}});
    }
    list.push_back({{"name", algorithm.name},
                    {"kind", "algorithm"},
                    {"summary", algorithm.summary},
                    {"ranges", algorithm.ranges},
                    {"source", algorithm.source},
                    {"operations", std::move(does)}});
  }
  append_catalogue(list, "library", config::collective_catalogue());
  for (const std::string& name : config::data_names(DataKind::collective_table)) {
    list.push_back(table_json(name));
  }
  return list;
}

/// "8 GPUs (v100-sxm2)", by the first of them.
std::string counted(const char* what, const NodeGraph& node, const std::vector<DeviceId>& devices) {
  if (devices.empty()) return fmt::format("no {}", what);
  return fmt::format("{} {} ({})", devices.size(), what, node.device(devices.front()).model);
}

Json topologies() {
  Json list = Json::array();
  for (const std::string& name : config::data_names(DataKind::node)) {
    const auto file = config::data_file(DataKind::node, name).string();
    const NodeGraph node = config::read_node(config::loaded_yaml(file));
    list.push_back({{"name", name},
                    {"kind", "node"},
                    {"summary", fmt::format("{}, {}", counted("GPUs", node, node.gpus()),
                                            counted("NICs", node, node.nics()))},
                    {"source", node.source}});
  }
  for (const std::string& name : config::data_names(DataKind::cluster)) {
    const config::YamlValue& document =
        config::loaded_yaml(config::data_file(DataKind::cluster, name).string());
    const config::ClusterSpec spec = config::read_cluster_topology(document);
    list.push_back({{"name", name},
                    {"kind", "cluster"},
                    {"summary", spec.cluster ? fmt::format("{} nodes and their network",
                                                           spec.cluster->node_count())
                                             : "a network, for nodes that a scenario gives"},
                    {"source", config::YamlMap(document).require<std::string>("source")}});
  }
  append_catalogue(list, "fabric", config::fabric_catalogue());
  for (const PortKind& kind : config::shipped_links().ports) {
    const PortSpec& port = kind.port;
    std::string summary = fmt::format("{:.2f} GB/s payload of {:g} Gbit/s, {:.2f} us",
                                      port.bandwidth.count() * 1e-9, kind.nominal.count() * 8e-9,
                                      (port.latency + port.message_overhead).count() * 1e6);
    if (port.connection_bandwidth) {
      summary +=
          fmt::format(", {:.2f} GB/s a connection", port.connection_bandwidth->count() * 1e-9);
    }
    list.push_back(
        {{"name", port.name}, {"kind", "link"}, {"summary", summary}, {"source", kind.source}});
  }
  list.push_back({{"name", "{bandwidth: ...}"},
                  {"kind", "link"},
                  {"summary", "a link that you describe, as fabric.link: {bandwidth: ...}"},
                  {"parameters", options_json(config::link_fields().keys())}});
  return list;
}

/// Those of one kind: "node", "fabric" or "link".
Json topologies_of(std::string_view kind) {
  Json list = Json::array();
  for (Json& entry : topologies()) {
    if (entry.at("kind") == kind) list.push_back(std::move(entry));
  }
  return list;
}

/// The data sheet that a GPU's file names.
std::string board_source(const config::YamlValue& document) {
  const config::YamlValue* source = document.find("source");
  const config::YamlValue* board = source != nullptr ? source->find("board") : nullptr;
  return board != nullptr ? board->text : "";
}

Json gpus() {
  Json list = Json::array();
  for (const std::string& name : config::data_names(DataKind::gpu)) {
    const config::YamlValue& document =
        config::loaded_yaml(config::data_file(DataKind::gpu, name).string());
    const GpuSpec gpu = config::read_gpu(document);
    Json peaks = Json::object();
    std::string summary = fmt::format(
        "{} multiprocessors, {:.0f} GB at {:.0f} GB/s", gpu.multiprocessors,
        static_cast<double>(gpu.memory_size.count()) * 1e-9, gpu.memory_bandwidth.count() * 1e-9);
    for (const auto& [dtype, flops] : gpu.peak_flops) {
      peaks[dtype] = flops;
      summary += fmt::format(", {} {:.1f} TFLOP/s", dtype, flops * 1e-12);
    }
    list.push_back({{"name", name},
                    {"kind", "gpu"},
                    {"summary", summary},
                    {"architecture", gpu.architecture},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_size", gpu.memory_size.count()},
                    {"memory_bandwidth", gpu.memory_bandwidth.count()},
                    {"memory_efficiency", gpu.memory_efficiency},
                    {"peak_flops", peaks},
                    {"source", board_source(document)}});
  }
  return list;
}

/// Lists that are also a page of the documentation.
const std::map<std::string, std::string>& page_titles() {
  static const std::map<std::string, std::string> titles = {
      {"collectives", "Collectives: operations, algorithms, libraries"},
      {"keys", ""},
      {"strategies", "Strategies: their knobs, presets, the originals' variables"},
      {"topologies", "Networks: machines, fabrics, links"}};
  return titles;
}

/// Lists of many entries with many knobs: a line each, unless one is asked for.
bool is_long(const std::string& what) {
  return what == "strategies" || what == "presets" || what == "models" || what == "keys";
}

/// The entries of that name. @throws CLI::ValidationError with the nearest name.
Json entries_named(const Json& list, const std::string& name, const std::string& what) {
  Json found = Json::array();
  std::vector<std::string> names;
  for (const Json& entry : list) {
    names.push_back(entry["name"].get<std::string>());
    if (names.back() == name) found.push_back(entry);
  }
  if (found.empty()) {
    throw CLI::ValidationError(
        "NAME", fmt::format("'{}' is not among the {}{}", name, what, suggestion(name, names)));
  }
  return found;
}

void print_list(const std::string& what, const std::string& name, Json list, bool json) {
  if (!name.empty()) list = entries_named(list, name, what);
  if (json) {
    print_text(json_text(list));
    return;
  }
  const bool whole = name.empty() && is_long(what);
  print_text(list_text(list, !whole));
  if (whole) {
    print_text(fmt::format("\ngradwire list {} NAME shows the {} of one.\n", what,
                           what == "models" ? "options"
                           : what == "keys" ? "keys"
                                            : "knobs"));
  }
}

/// The kind of file whose head states `schema`; of scenarios where it is "".
/// @throws CLI::ValidationError with the nearest.
const config::FileKind& kind_named(const std::string& schema) {
  const auto& kinds = config::file_kinds();
  if (schema.empty()) return kinds.front();
  const auto found = std::ranges::find(kinds, schema, &config::FileKind::name);
  if (found != kinds.end()) return *found;
  const std::vector<std::string> known = config::names_of(kinds);
  throw CLI::ValidationError("NAME",
                             fmt::format("'{}' is no kind of file; expected one of {}{}", schema,
                                         joined_by(known, ", "), suggestion(schema, known)));
}

void print_page(const std::string& what, const std::string& name, Json list) {
  if (what == "keys") {
    for (const Json& entry : entries_named(list, name, what)) print_text(keys_markdown(entry));
    return;
  }
  if (what == "strategies") {
    for (Json& entry : presets_json()) list.push_back(std::move(entry));
    for (Json& entry : variables_json()) list.push_back(std::move(entry));
  }
  print_text(list_markdown(list, page_titles().at(what),
                           fmt::format("gradwire list {} --markdown", what)));
}

}  // namespace

void add_list(CLI::App& app, Context& /*context*/) {
  struct ListOptions {
    std::string what;
    std::string name;
    bool json = false;
    bool markdown = false;
  };
  static const std::string schema = "schema";  // a JSON Schema of a kind of file, for editors
  static const std::map<std::string, Json (*)()> lists = {
      {"strategies", strategies},
      {"collectives", collectives},
      {"topologies", topologies},
      {"profiles", profiles_json},
      {"models", models_json},
      {"gpus", gpus},
      {"keys", keys_json},
      {"frameworks", frameworks_json},
      {"presets", presets_json},
      {"variables", variables_json},
      {"nodes", [] { return topologies_of("node"); }},
      {"fabrics", [] { return topologies_of("fabric"); }},
      {"links", [] { return topologies_of("link"); }}};
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "What is built in, with defaults and sources");
  std::vector<std::string> names(lists.size());
  std::transform(lists.begin(), lists.end(), names.begin(),
                 [](const auto& list) { return list.first; });
  names.push_back(schema);
  command->add_option("WHAT", options->what, joined_by(names, " | "))
      ->required()
      ->check(one_of(names));
  command->add_option("NAME", options->name,
                      "Only the entry of that name; of schema the kind of file");
  auto* json = command->add_flag("--json", options->json, "A list of objects on standard output");
  command
      ->add_flag("--markdown", options->markdown,
                 "A page of the documentation (collectives, strategies, topologies), or a table of "
                 "a section's keys")
      ->excludes(json);
  command->footer(
      "Examples:\n"
      "  gradwire list strategies\n"
      "  gradwire list strategies ddp\n"
      "  gradwire list models --json\n"
      "  gradwire list keys run\n"
      "  gradwire list schema > gradwire.schema.json   # yaml-language-server: $schema=...\n"
      "  gradwire list schema gradwire.model/1         # of another kind of file\n"
      "  gradwire list collectives --markdown > docs/collectives.md");
  command->callback([options] {
    if (options->markdown && !page_titles().contains(options->what)) {
      throw CLI::ValidationError(
          "--markdown",
          "there is a page of collectives, of strategies and of topologies, and a table "
          "of each section of keys");
    }
    if (options->what == schema) {
      print_text(config::json_schema(kind_named(options->name)));
      return;
    }
    Json list = lists.at(options->what)();
    if (options->markdown) {
      print_page(options->what, options->name, std::move(list));
    } else {
      print_list(options->what, options->name, std::move(list), options->json);
    }
  });
}

}  // namespace gradwire::cli
