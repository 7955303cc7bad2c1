// docs/scenario.md is true and complete: its examples are accepted, and each key that the readers
// ask for, or that a result has, stands in its section.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/check.hpp"
#include "sim/config/cluster/topology_catalogue.hpp"
#include "sim/config/collective/collective_catalogue.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/core/error.hpp"
#include "sim/report/comparison.hpp"
#include "sim/report/nccl_table.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_table.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

using Json = nlohmann::ordered_json;

const std::string unknown = "no_such_key: 1";

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

struct Example {
  std::string file;  ///< that it is to be written to, "" when the page does not say
  std::string text;
};

/// A mapping's entries as they are written, by key.
std::map<std::string, std::string> entries_of(const std::string& yaml) {
  std::map<std::string, std::string> entries;
  std::istringstream lines(yaml);
  std::string key;
  for (std::string line; std::getline(lines, line);) {
    const bool first = !line.empty() && std::isalpha(static_cast<unsigned char>(line.front())) != 0;
    if (first) key = line.substr(0, line.find(':'));
    entries[key] += line + '\n';
  }
  return entries;
}

/// The page's sections by heading, and its YAML blocks, whose files lie in a folder of their own.
class Page {
 public:
  Page() {
    setenv("GRADWIRE_DATA", GRADWIRE_SOURCE_DIR, 1);
    std::istringstream lines(text_of(GRADWIRE_SOURCE_DIR "/docs/scenario.md"));
    const std::string fence = "```yaml";
    const std::string named = " file=";
    std::string heading;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("## ")) heading = line.substr(3);
      if (!line.starts_with(fence)) {
        sections_[heading] += line + '\n';
        continue;
      }
      const auto at = line.find(named);
      Example example{at == std::string::npos ? "" : line.substr(at + named.size()), ""};
      while (std::getline(lines, line) && line != "```") example.text += line + '\n';
      if (!example.file.empty()) static_cast<void>(write(example.text, example.file));
      examples_.push_back(std::move(example));
    }
    REQUIRE(examples_.size() > 1);
  }
  [[nodiscard]] const std::vector<Example>& examples() const { return examples_; }

  /// @return the file's name.
  [[nodiscard]] std::string write(const std::string& text, const std::string& name) const {
    return folder_.write(text, name);
  }

  /// The page's first scenario with what `yaml` says in place of its own; a whole file as it is.
  [[nodiscard]] std::string scenario(const std::string& yaml) const {
    if (yaml.starts_with("schema:")) return yaml;
    auto entries = entries_of(examples_.front().text);
    for (const auto& [key, text] : entries_of(yaml)) entries[key] = text;
    std::string whole;
    for (const auto& [key, text] : entries) whole += text;
    return whole;
  }

  [[nodiscard]] std::string refusal(const std::string& yaml) const {
    const std::string file = write(scenario(yaml), "example.yaml");
    return gradwire::test::refusal_of([&] { check_file(file); });
  }

  /// `key`, `mapping.key` or `key: value` stands in a section of the page.
  [[nodiscard]] bool tells(const std::string& heading, const std::string& key) const {
    const auto section = sections_.find(heading);
    REQUIRE(section != sections_.end());
    const std::string& text = section->second;
    return text.find('`' + key + '`') != std::string::npos ||
           text.find('.' + key + '`') != std::string::npos ||
           text.find('`' + key + ':') != std::string::npos;
  }

 private:
  test::ScratchFolder folder_;
  std::map<std::string, std::string> sections_;
  std::vector<Example> examples_;
};

/// The keys that a file's mapping may have where `no_such_key` stands, by the reader's message.
std::vector<std::string> keys_told(const std::string& refusal) {
  const std::string begin = "unknown key 'no_such_key'; expected one of ";
  INFO(refusal);
  const auto at = refusal.find(begin);
  REQUIRE(at != std::string::npos);
  std::string list = refusal.substr(at + begin.size());
  list = list.substr(0, list.find("; did you mean"));
  std::vector<std::string> keys;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = std::min(list.find(", ", from), list.size());
    keys.push_back(list.substr(from, comma - from));
    from = comma + 2;
  }
  return keys;
}

struct Probe {
  const char* section;
  std::string yaml;  ///< with no_such_key in one mapping
};

void check_probes(const std::vector<Probe>& probes) {
  const Page page;
  for (const Probe& probe : probes) {
    for (const std::string& key : keys_told(page.refusal(probe.yaml))) {
      INFO("'" << key << "' in section '" << probe.section << "', from: " << probe.yaml);
      CHECK(page.tells(probe.section, key));
    }
  }
}

/// A shipped file with an unknown key put in where `at` begins, for each of `places`.
void check_file_keys(const char* section, const std::string& file,
                     const std::vector<std::string>& places) {
  const std::string shipped = text_of(GRADWIRE_SOURCE_DIR "/" + file);
  std::vector<Probe> probes;
  for (const std::string& at : places) {
    const auto found = shipped.find(at);
    INFO(file << ": " << at);
    REQUIRE(found != std::string::npos);
    const auto begin = shipped.rfind('\n', found) + 1;
    const std::string before = shipped.substr(begin, found - begin);
    const bool block = before.find_first_not_of(' ') == std::string::npos;
    const std::string end = block ? '\n' + before : ", ";
    std::string yaml = shipped.substr(shipped.find("schema:"));
    probes.push_back({section, yaml.insert(yaml.find(at), unknown + end)});
  }
  check_probes(probes);
}

void gather_fields(const Json& json, std::vector<std::string>& fields) {
  if (json.is_array()) {
    for (const Json& item : json) gather_fields(item, fields);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    fields.push_back(key);
    if (key != "scenario" && key != "vary") gather_fields(value, fields);
  }
}

}  // namespace

TEST_CASE("Every example of docs/scenario.md is accepted, a part of a scenario on top of the first",
          "[docs]") {
  const Page page;
  for (const Example& example : page.examples()) {
    INFO(example.text);
    CHECK(page.refusal(example.text) == "accepted");
  }
}

TEST_CASE("docs/scenario.md has every key of a scenario and of its profile", "[docs]") {
  check_probes(
      {{"Top level", unknown},
       {"Profile",
        "profile: {file: resnet50/v100-sxm2-32gb_fp32_b32, gpu: t4, iteration_time: 1 s, "
        "no_such_key: 1}"},
       {"Profile",
        "profile: {model: bert_base, gpu: t4, dtype: fp16, batch_per_gpu: 8, optimizer: adam, "
        "iteration_time: 1 s, no_such_key: 1}"},
       {"Profile", "profile: {file: resnet50/v100-sxm2-32gb_fp32_b32, overlap: {no_such_key: 1}}"},
       {"Top level", "gpu: {no_such_key: 1}"},
       {"Elastic", "elastic: {schedule: \"1:1\", no_such_key: 1}"},
       {"Elastic", "elastic: {phases: [{workers: [0], steps: 1, no_such_key: 1}]}"},
       {"Run, jitter, stragglers", "run: {no_such_key: 1}"},
       {"Run, jitter, stragglers", "jitter: {no_such_key: 1}"},
       {"Run, jitter, stragglers", "stragglers: [{compute: 2, ranks: [0], no_such_key: 1}]"}});
  const Page page;
  for (const char* key : {"points", "vary"}) CHECK(page.tells("Top level", key));
  CHECK(page.tells("Points and vary", "label"));
}

TEST_CASE("docs/scenario.md has every key of a cluster", "[docs]") {
  const std::string switched = "fabric: {kind: single_switch, link: ib_edr}";
  const std::string pair = "cluster: {node: dgx1v, nodes: 2, ";
  std::map<std::string, std::string> must_have = {
      {"fat_tree", "levels: 3, nodes_per_leaf: 1, leaves_per_pod: 2"},
      {"dragonfly", "groups: 2, routers_per_group: 1"},
      {"torus", "dimensions: [2]"}};
  std::vector<Probe> probes = {
      {"Cluster", pair + "no_such_key: 1, " + switched + "}"},
      {"Cluster", "cluster: {no_such_key: 1, groups: [{node: dgx1v, nodes: 2}], " + switched + "}"},
      {"Cluster", "cluster: {groups: [{node: dgx1v, nodes: 2, no_such_key: 1}], " + switched + "}"},
      {"Cluster", "cluster: {topology: two_rooms, no_such_key: 1}"},
      {"Cluster", pair + "fabric: {kind: rail, trunk: {no_such_key: 1}}}"},
      {"Cluster", pair + "fabric: {kind: single_switch, link: {bandwidth: 1 GB/s, latency: 1 us, "
                         "kind: tcp, no_such_key: 1}}}"}};
  for (const FabricEntry& fabric : fabric_catalogue()) {
    probes.push_back({"Cluster", pair + "fabric: {kind: " + fabric.name + ", no_such_key: 1, " +
                                     must_have[fabric.name] + "}}"});
  }
  check_probes(probes);
}

TEST_CASE("docs/scenario.md has every key of a strategy that is no knob of one, and of a library",
          "[docs]") {
  const Page page;
  const std::string knobs = text_of(GRADWIRE_SOURCE_DIR "/docs/strategies.md");
  for (const StrategyEntry& entry : strategy_catalogue()) {
    const std::string refusal =
        page.refusal("strategy: {name: " + entry.name + ", no_such_key: 1}\n");
    for (const std::string& key : keys_told(refusal)) {
      INFO(entry.name << ": " << key);
      const bool general = key == "compression" || key == "servers";
      CHECK((page.tells("Strategy", key) ||
             (!general && knobs.find("| `" + key + "` |") != std::string::npos)));
    }
  }
  std::vector<Probe> probes = {
      {"Strategy", "strategy: {name: none, no_such_key: 1}"},
      {"Strategy", "strategy: {name: ps_sync, servers: {no_such_key: 1}}"},
      {"Strategy", "strategy: {name: ddp, compression: {name: fp16, no_such_key: 1}}"},
      {"Collective", "collective: {no_such_key: 1}"},
      {"Collective", "collective: {library: user, alpha: 1 us, bandwidth: 1 GB/s, no_such_key: 1}"},
      {"Collective",
       "collective: {library: user, lines: [{algorithm: ring, alpha: 1 us, bandwidth: 1 GB/s, op: "
       "all_reduce, no_such_key: 1}]}"}};
  for (const CollectiveEntry& library : collective_catalogue()) {
    if (library.name == "user") continue;
    probes.push_back({"Collective", "collective: {library: " + library.name + ", no_such_key: 1}"});
  }
  check_probes(probes);
  CHECK(page.tells("Strategy", "preset"));
}

TEST_CASE("docs/scenario.md has every key of the files that a scenario names", "[docs]") {
  check_file_keys("Profile files", "profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml",
                  {"model:", "tool: ", "p50: 93", "p50: 1.109", "launch:", "tensors: 159",
                   "name: conv1,", "name: conv1.weight"});
  check_file_keys("GPU files", "profiles/gpus/a100-sxm4-40gb.yaml",
                  {"multiprocessors:", "nvlink:"});
  check_file_keys("Node files", "topologies/nodes/dgx1v.yaml",
                  {"gpus:", "id: gpu0", "a: gpu0, b: switch", "a: gpu0, b: gpu1"});
  check_file_keys("Cluster files", "topologies/clusters/two_rooms.yaml",
                  {"source:", "node: dgx1v", "id: room0", "a: room0", "switch: room0"});
}

TEST_CASE("docs/scenario.md has every field of a result", "[docs]") {
  RunResult run;
  run.world_size = run.batch_per_gpu = 1;
  run.single_gpu_iteration_s = 1;
  run.samples = run.sample_weight = run.iteration_s = {1};
  run.staleness = 1;
  run.links = {{.name = "node0.nic0.up"}};
  run.warnings = {{.code = "memory", .text = "much"}};
  Point point;
  point.label = "a";
  point.result = run;
  const Json result = result_json(point);
  const std::vector<ComparisonRow> compared = {
      {.name = "a",
       .result = result,
       .error = "",
       .rank = 1,
       .speed_up = SpeedUp{},
       .group = 1,
       .beats_baseline = 0.5},
      {.name = "b", .result = result, .error = "", .speed_up = {}, .why = "coding"},
      {.name = "c", .result = nullptr, .error = "refused", .speed_up = {}}};
  const std::vector<ResultRow> swept = {{{{"cluster.nodes", "1"}}, result, ""}};
  CollectiveReport timed;
  timed.rows.emplace_back();
  std::vector<std::string> fields;
  gather_fields(comparison_json(compared, "a"), fields);
  gather_fields(sweep_json(swept), fields);
  gather_fields(collective_json(timed), fields);
  const Page page;
  fields.insert(fields.end(), {"at_compute", "faster_s", "slower_s"});  // put in by the command
  for (const std::string& field : fields) {
    INFO(field);
    CHECK(page.tells("Results", field));
  }
}
