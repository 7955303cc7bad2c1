#include "sim/config/strategy/presets.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "sim/config/scenario.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

constexpr const char* head =
    "schema: gradwire.scenario/1\n"                                         // 1
    "profile: tiny/small-gpu_fp32_b4\n"                                     // 2
    "cluster: {node: pair, nodes: 2, fabric: {kind: single_switch, link: "  // 3
    "ib_edr, links_per_node: 1}}\n";

std::string preset_file() {
  return GRADWIRE_SOURCE_DIR "/tests/config/data/strategies/presets.yaml";
}

/// The document after the preset has been put in, as one line of YAML.
std::string expanded(const std::string& text) {
  YamlValue document = parse_yaml(text, "s.yaml");
  expand_preset(document);
  return to_text(document);
}

}  // namespace

TEST_CASE_METHOD(ConfigFixture, "A preset stands for its settings", "[config][preset]") {
  CHECK(expanded("strategy: {preset: made_up/small-buckets}") ==
        to_text(parse_yaml("strategy: {name: ddp, version: \"1.4\", bucket_cap: 1 MiB}\n"
                           "collective: {library: nccl, version: \"2.4.8\"}",
                           "t")));
  CHECK(expanded("strategy: {preset: made_up/plain}") == expanded("strategy: {name: wfbp}"));
}

TEST_CASE_METHOD(ConfigFixture, "What stands beside a preset counts", "[config][preset]") {
  CHECK(expanded("strategy: {preset: made_up/small-buckets, bucket_cap: 2 MiB}\n"
                 "collective: {version: \"2.5\"}") ==
        to_text(parse_yaml("strategy: {bucket_cap: 2 MiB, name: ddp, version: \"1.4\"}\n"
                           "collective: {version: \"2.5\", library: nccl}",
                           "t")));
  SECTION("another library takes nothing of the preset's") {
    CHECK(expanded("strategy: {preset: made_up/small-buckets}\ncollective: {library: gloo}")
              .find("2.4.8") == std::string::npos);
  }
}

TEST_CASE_METHOD(ConfigFixture, "A scenario runs by its preset", "[config][preset]") {
  const auto read = [&](const std::string& more, const std::vector<std::string>& sets) {
    return read_scenario(write(head + more), sets);
  };
  const auto by_preset = read("strategy: {preset: made_up/small-buckets}\n", {});
  CHECK(by_preset.front().strategy_name == "ddp");
  CHECK(by_preset.front().json.find("made_up/small-buckets") != std::string::npos);

  SECTION("--set puts a single key beside it") {
    CHECK(read("strategy: {preset: made_up/small-buckets}\n", {"strategy.bucket_cap=2 MiB"})
              .front()
              .strategy_name == "ddp");
  }
  SECTION("--set of another strategy's name takes its place, with its keys") {
    CHECK(read("strategy: {preset: made_up/small-buckets, bucket_cap: 2 MiB}\n",
               {"strategy.name=wfbp"})
              .front()
              .strategy_name == "wfbp");
  }
  SECTION("--set of a preset takes a name's place, with its keys") {
    CHECK(read("strategy: {name: ddp, bucket_cap: 2 MiB}\n", {"strategy.preset=made_up/plain"})
              .front()
              .strategy_name == "wfbp");
  }
}

TEST_CASE_METHOD(ConfigFixture, "An unknown preset is refused with the nearest",
                 "[config][preset]") {
  const std::string file = write(head + std::string("strategy: {preset: made_up/plane}\n"));
  CHECK_THROWS_WITH(read_scenario(file, {}),
                    file +
                        ":4:20: 'preset' is 'made_up/plane'; expected one of "
                        "made_up/small-buckets, made_up/plain; did you mean 'made_up/plain'?");
}

TEST_CASE_METHOD(ConfigFixture, "A preset and the name of another strategy exclude each other",
                 "[config][preset]") {
  const std::string file =
      write(head + std::string("strategy: {name: wfbp, preset: made_up/small-buckets}\n"));
  CHECK_THROWS_WITH(read_scenario(file, {}),
                    file +
                        ":4:18: 'name' is 'wfbp', the preset 'made_up/small-buckets' is of "
                        "'ddp'; expected one of the two");
}

TEST_CASE_METHOD(ConfigFixture, "An error in a preset's key tells the preset's file",
                 "[config][preset]") {
  // The preset's version 1.4 has no views; the scenario's key is to blame for asking for them.
  const std::string file =
      write(head + std::string("strategy: {preset: made_up/small-buckets, bucket_cup: 2 MiB}\n"));
  CHECK_THROWS_WITH(read_scenario(file, {}),
                    Catch::ContainsSubstring(file + ":4:43: unknown key 'bucket_cup'"));
  YamlValue document = parse_yaml("strategy: {preset: made_up/small-buckets}", "s.yaml");
  expand_preset(document);
  const YamlValue* cap = document.find("strategy")->find("bucket_cap");
  CHECK(cap->where.file == preset_file());
  CHECK(cap->where.line == 6);
}

TEST_CASE("A preset that is there twice, or has no strategy, is refused", "[config][preset]") {
  const auto refuse = [](const std::string& presets) {
    return read_presets(parse_yaml("schema: gradwire.presets/1\npresets:\n" + presets, "p.yaml"));
  };
  const std::string one = "- {name: a, summary: s, source: t, strategy: {name: ddp}}\n";
  CHECK(refuse(one).size() == 1);
  CHECK_THROWS_WITH(refuse(one + one), "p.yaml:4:3: the preset 'a' is there twice; expected once");
  CHECK_THROWS_WITH(refuse("- {name: a, summary: s, source: t}\n"),
                    Catch::ContainsSubstring("missing key 'strategy'"));
  CHECK_THROWS_WITH(refuse("- {name: a, summary: s, source: t, strategy: {bucket_cap: 1 MiB}}\n"),
                    Catch::ContainsSubstring("missing key 'name'"));
}

TEST_CASE("Every shipped preset is one of its strategy, and there with its source",
          "[config][preset]") {
  const auto list = shipped_presets();
  for (const char* name : {"ddl_benchmarks/BSP-A2A",
                           "ddl_benchmarks/WFBP-A2A",
                           "ddl_benchmarks/MG-WFBP",
                           "ddl_benchmarks/ByteScheduler-A2A",
                           "ddl_benchmarks/BSP-PS",
                           "ddl_benchmarks/WFBP-PS",
                           "ddl_benchmarks/ByteScheduler-PS",
                           "ddl_benchmarks/Horovod",
                           "ddl_benchmarks/Adasum",
                           "ddl_benchmarks/TopK",
                           "ddl_benchmarks/EF-TopK",
                           "ddl_benchmarks/Signum",
                           "ddl_benchmarks/EF-Signum",
                           "pytorch_ddp/default",
                           "horovod/0.16",
                           "horovod/0.19",
                           "horovod/0.21",
                           "horovod/0.28",
                           "byteps/default",
                           "kungfu/sync-sgd",
                           "kungfu/async-sgd",
                           "kungfu/sma",
                           "acpsgd/ssgd",
                           "acpsgd/powersgd",
                           "acpsgd/powersgd-bert",
                           "acpsgd/acpsgd",
                           "acpsgd/acpsgd-bert",
                           "dear/default"}) {
    INFO(name);
    const auto preset = std::ranges::find(list, name, &Preset::name);
    REQUIRE(preset != list.end());
    CHECK_FALSE(preset->source.empty());
    const std::string strategy = preset->strategy.find("name")->text;
    if (find_strategy(strategy) == nullptr) {
      WARN("there is no strategy '" << strategy << "' yet");
      continue;
    }
    const ConfigFixture folder;
    unsetenv("GRADWIRE_DATA");
    const std::string file = folder.write(
        "schema: gradwire.scenario/1\n"
        "profile: resnet50/v100-sxm2-32gb_fp32_b32\n"
        "cluster: {node: dgx1v, nodes: 2, fabric: {kind: single_switch, link: ib_edr}}\n"
        "strategy: {preset: " +
        std::string(name) + "}\n");
    CHECK(read_scenario(file, {}).front().strategy_name == strategy);
  }
}
