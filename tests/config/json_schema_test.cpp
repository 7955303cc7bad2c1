// The JSON Schemas of scenarios and of other files accept what the readers accept, and refuse
// what editors should mark.

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/file_kinds.hpp"
#include "sim/config/scenario_document.hpp"
#include "tests/catch.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

using Json = nlohmann::json;

/// Draft 7 as far as our schema goes: a keyword that is not here fails.
class Validator {
 public:
  explicit Validator(const FileKind& kind = file_kinds().front())
      : root_(Json::parse(json_schema(kind))) {}

  [[nodiscard]] bool accepts(const Json& value) const { return accepts(root_, value); }

 private:
  [[nodiscard]] bool accepts(const Json& schema, const Json& value) const {
    if (schema.is_boolean()) return schema.get<bool>();
    return std::all_of(schema.items().begin(), schema.items().end(), [&](const auto& keyword) {
      return holds(keyword.key(), keyword.value(), schema, value);
    });
  }

  [[nodiscard]] bool holds(const std::string& keyword, const Json& rule, const Json& schema,
                           const Json& value) const {
    const auto accepted = [&](const Json& part) { return accepts(part, value); };
    if (keyword == "$ref") {
      return accepted(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))));
    }
    if (keyword == "type") {
      return rule.is_array() ? std::any_of(rule.begin(), rule.end(),
                                           [&](const Json& type) {
                                             return is_of(type.get<std::string>(), value);
                                           })
                             : is_of(rule.get<std::string>(), value);
    }
    if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (keyword == "const") return value == rule;
    if (keyword == "pattern") {
      const auto pattern = rule.get<std::string>();
      return !value.is_string() ||
             std::regex_search(value.get<std::string>(),
                               patterns_.try_emplace(pattern, pattern).first->second);
    }
    if (keyword == "minimum") return !value.is_number() || value >= rule;
    if (keyword == "maximum") return !value.is_number() || value <= rule;
    if (keyword == "exclusiveMinimum") return !value.is_number() || value > rule;
    if (keyword == "allOf") return std::all_of(rule.begin(), rule.end(), accepted);
    if (keyword == "anyOf") return std::any_of(rule.begin(), rule.end(), accepted);
    if (keyword == "not") return !accepted(rule);
    if (keyword == "if") return !accepted(rule) || accepted(schema.at("then"));
    if (keyword == "items") {
      return !value.is_array() || std::all_of(value.begin(), value.end(), [&](const Json& item) {
        return accepts(rule, item);
      });
    }
    if (keyword == "required") {
      return !value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const Json& key) {
        return value.contains(key.get<std::string>());
      });
    }
    if (keyword == "properties") {
      return !value.is_object() ||
             std::all_of(rule.items().begin(), rule.items().end(), [&](const auto& key) {
               return !value.contains(key.key()) || accepts(key.value(), value.at(key.key()));
             });
    }
    if (keyword == "additionalProperties") {
      return !value.is_object() ||
             std::all_of(value.items().begin(), value.items().end(), [&](const auto& key) {
               return schema.at("properties").contains(key.key()) || accepts(rule, key.value());
             });
    }
    const bool comment = keyword == "$schema" || keyword == "title" || keyword == "description" ||
                         keyword == "definitions" || keyword == "then";
    INFO(keyword);
    REQUIRE(comment);
    return true;
  }

  static bool is_of(const std::string& type, const Json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "number") return value.is_number();
    REQUIRE(type == "integer");
    return value.is_number_integer();
  }

  Json root_;
  mutable std::map<std::string, std::regex> patterns_;  ///< made once: a file has thousands
};

Json as_written(const YamlValue& yaml) {
  return Json::parse(to_json(yaml));
}

/// The first scenario of the README with `changes`, dotted keys and YAML.
Json changed(const std::vector<std::pair<std::string, std::string>>& changes) {
  YamlValue yaml = load_yaml(GRADWIRE_SOURCE_DIR "/scenarios/quickstart.yaml");
  for (const auto& [path, text] : changes) {
    apply(yaml, {path, {}, parse_yaml(text, "change")});
  }
  return as_written(yaml);
}

}  // namespace

TEST_CASE("Every shipped scenario is valid by the schema", "[config][schema]") {
  const Validator validator;
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(GRADWIRE_SOURCE_DIR "/scenarios")) {
    if (file.path().extension() != ".yaml") continue;
    ++count;
    INFO(file.path());
    CHECK(validator.accepts(as_written(load_yaml(file.path().string()))));
  }
  CHECK(count > 0);
}

TEST_CASE("What a scenario may be changed to is valid by the schema", "[config][schema]") {
  const auto [path, text] = GENERATE(table<std::string, std::string>(
      {{"strategy", "{preset: ddl_benchmarks/WFBP-A2A, dnn: bert, BYTEPS_LOCAL_SIZE: 8}"},
       {"strategy", "{name: ddp, bucket_cap: 25MiB, compression: {name: topk, density: 1 %}}"},
       {"strategy", "{name: ps_sync, servers: {count: 2, placement: separate}}"},
       {"cluster", "{topology: two_rooms}"},
       {"cluster.fabric", "{topology: two_rooms, routing: ecmp}"},
       {"cluster.fabric", "{kind: torus, dimensions: [2, 2], trunk: {bandwidth: 10 Gbit/s}}"},
       {"collective", "{version: 2.18, algorithm: ring, channels: auto}"},
       {"collective", "{library: mpi, version: 4.1, algorithm: ring}"},
       {"collective",
        "{library: user, lines: [{algorithm: ring, alpha: 1 us, bandwidth: 1 GB/s}]}"},
       {"placement", "[node0.gpu0]"},
       {"points", "[{label: a, strategy.name: none}]"},
       {"points", "{world_sizes: [2, 4]}"},
       {"vary", "{cluster.nodes: [1, 2]}"},
       {"profile", "resnet50/v100-sxm2-32gb_fp32_b32"},
       {"profile", "{model: gpt2, gpu: t4, dtype: fp16, batch_per_gpu: 8, overlap: 1.2}"}}));
  INFO(path << ": " << text);
  CHECK(Validator().accepts(changed({{path, text}})));
}

TEST_CASE("A misspelt key is invalid by the schema in every mapping", "[config][schema]") {
  const Validator validator;
  REQUIRE(validator.accepts(changed({})));
  const auto [path, text] = GENERATE(table<std::string, std::string>(
      {{"runn", "{}"},
       {"run.iteratoins", "5"},
       {"jitter.rnak", "1 %"},
       {"stragglers", "[{ranks: [0], compute: 2, fractoin: 1 %}]"},
       {"uneven_inputs", "[{ranks: [0], iterations: 2, label: a}]"},
       {"strategy.bukcet_cap", "25 MiB"},
       {"strategy", "{preset: ddl_benchmarks/WFBP-A2A, bukcet_cap: 25 MiB}"},
       {"strategy", "{name: ddp, HOROVOD_CYCLE_TIEM: 5}"},
       {"strategy", "{name: ddp, compression: {name: topk, densty: 1 %}}"},
       {"strategy", "{name: ps_sync, servers: {cuont: 2}}"},
       {"cluster.ndoes", "2"},
       {"cluster", "{groups: [{node: dgx1v, nodse: 2}]}"},
       {"cluster.fabric", "{kind: fat_tree, radx: 8}"},
       {"cluster.fabric.link", "{bandwidth: 1 GB/s, latency: 1 us, kind: ib, conections: 2}"},
       {"collective", "{library: gloo, stpe: 1 us}"},
       {"collective", "{verison: 2.18}"},
       {"profile", "{model: gpt2, gpu: t4, dtype: fp16, batch_per_gup: 8}"},
       {"profile", "{model: gpt2, overlap: {conv9: 1.2}}"},
       {"gpu", "{memory_efficency: 85 %}"},
       {"elastic", "{phases: [{workers: [0], step: 1}]}"}}));
  INFO(path << ": " << text);
  CHECK_FALSE(validator.accepts(changed({{path, text}})));
}

TEST_CASE("A key of another choice and a value that is none are invalid by the schema",
          "[config][schema]") {
  const auto [path, text] = GENERATE(table<std::string, std::string>(
      {{"strategy", "{name: bsp, bucket_cap: 25 MiB}"},
       {"cluster.fabric", "{kind: single_switch, link: ib_edr, radix: 8}"},
       {"collective", "{library: gloo, channels: 2}"},
       {"strategy", "{name: ddp, bucket_cap: 25}"},
       {"strategy", "{name: dpd}"},
       {"run.iterations", "0"},
       {"run.iterations", "many"},
       {"stragglers", "[{ranks: [0]}]"},
       {"schema", "gradwire.scenario/2"}}));
  INFO(path << ": " << text);
  CHECK_FALSE(Validator().accepts(changed({{path, text}})));
}

namespace {

const FileKind& kind_of(const YamlValue& document) {
  return *std::ranges::find(file_kinds(), document.find("schema")->text, &FileKind::name);
}

/// Files that ship beside scenarios; recordings of many layers are like those of few.
std::vector<std::string> data_files() {
  namespace fs = std::filesystem;
  std::vector<std::string> files = {GRADWIRE_SOURCE_DIR "/results/reference/collectives.yaml"};
  for (const std::string folder : {"profiles", "topologies", "strategies"}) {
    for (const auto& file : fs::recursive_directory_iterator(GRADWIRE_SOURCE_DIR "/" + folder)) {
      constexpr std::uintmax_t most = 1 << 15;
      const bool taken = file.path().extension() == ".yaml" && file.file_size() <= most;
      if (taken) files.push_back(file.path().string());
    }
  }
  return files;
}

Json file_as_written(const std::string& folder_and_name) {
  return as_written(load_yaml(GRADWIRE_SOURCE_DIR "/" + folder_and_name));
}

}  // namespace

TEST_CASE("Every shipped file is valid by the schema of its kind", "[config][schema]") {
  std::map<std::string, Validator> validators;
  for (const FileKind& kind : file_kinds()) validators.emplace(kind.name, Validator(kind));
  std::set<std::string> seen = {"gradwire.scenario/1", "gradwire.calibrated/1", "gradwire.model/1"};
  for (const std::string& file : data_files()) {
    const YamlValue document = load_yaml(file);
    const std::string& kind = kind_of(document).name;
    seen.insert(kind);
    INFO(file);
    CHECK(validators.at(kind).accepts(as_written(document)));
  }
  for (const FileKind& kind : file_kinds()) {
    INFO(kind.name << " has no file here");
    CHECK(seen.contains(kind.name));
  }
}

TEST_CASE("A misspelt key is invalid by the schema of every kind of file", "[config][schema]") {
  const auto [name, pointer] = GENERATE(table<std::string, std::string>(
      {{"profiles/tables/links.yaml", "/wires/0"},
       {"profiles/tables/links.yaml", "/latencies/nvlink"},
       {"profiles/tables/hosts.yaml", "/frameworks/0/operators/0"},
       {"profiles/tables/decoders.yaml", "/families/0/members/0"},
       {"profiles/efficiencies/volta.yaml", "/dtypes/fp32/classes/linear/forward"},
       {"profiles/libraries/mpi.yaml", "/constants/entry"},
       {"strategies/presets.yaml", "/presets/0"},
       {"strategies/variables.yaml", "/knobs/0/variables/DDP_SET_LAST_BUCKET_CAP"},
       {"topologies/clusters/two_rooms.yaml", "/trunks/0"},
       {"results/reference/collectives.yaml", "/tables/0/parts"}}));
  Json json = file_as_written(name);
  json.at(Json::json_pointer(pointer))["sorce"] = 1;
  INFO(name << ": " << pointer);
  CHECK_FALSE(Validator(kind_of(load_yaml(GRADWIRE_SOURCE_DIR "/" + name))).accepts(json));
}

TEST_CASE("A model file's layers have the keys of their kind by its schema", "[config][schema]") {
  const auto kind = std::ranges::find(file_kinds(), "gradwire.model/1", &FileKind::name);
  const Validator validator(*kind);
  const auto accepts = [&](const std::string& layer) {
    return validator.accepts(as_written(parse_yaml(
        "{schema: gradwire.model/1, name: m, input: [3, 8, 8], parameters: {h: 4}, layers: [" +
            layer + "]}",
        "m.yaml")));
  };
  CHECK(accepts("{name: a, kind: conv, out: 4 * h, kernel: [3, 5], padding: 1}"));
  CHECK(accepts("{repeat: h, as: i, layers: [{name: 'a{i}', kind: linear, out: h}]}"));
  CHECK(accepts("{name: a, kind: raw, work: norm, forward: {flops: 1.5e9}, backward: {}}"));
  CHECK_FALSE(accepts("{name: a, kind: linear, out: 4, kernel: 3}"));
  CHECK_FALSE(accepts("{name: a, kind: linaer, out: 4}"));
  CHECK_FALSE(accepts("{kind: linear, out: 4}"));
  CHECK_FALSE(accepts("{repeat: 2, layers: [{name: a, kind: linear, ouut: 4}]}"));
}

TEST_CASE("A section's name means the same keys in every kind of file", "[config][schema]") {
  std::map<std::string, std::vector<std::string>> keys;
  for (const FileKind& kind : file_kinds()) {
    std::vector<Section> sections = sections_of(kind);
    sections.erase(sections.begin());  // has the kind's own `schema`
    for (const Section& section : sections) {
      const auto known = keys.try_emplace(section.name, names_of(section.keys)).first;
      INFO(kind.name << ": " << section.name);
      CHECK(known->second == names_of(section.keys));
    }
  }
  for (const FileKind& kind : file_kinds()) {
    INFO(kind.name);
    CHECK(keys.emplace(sections_of(kind).front().name, std::vector<std::string>{}).second);
  }
}
