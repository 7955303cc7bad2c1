#include "sim/config/strategy/original_knobs.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/cluster/cluster_variables.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

std::string translated(const std::string& strategy) {
  YamlValue document = parse_yaml("strategy: " + strategy, "s.yaml");
  std::vector<Warning> warnings;
  translate_original_knobs(document, warnings);
  return to_text(*document.find("strategy"));
}

/// The warnings of a translation, each on a line.
std::string told(const std::string& strategy) {
  YamlValue document = parse_yaml("strategy: " + strategy, "s.yaml");
  std::vector<Warning> warnings;
  translate_original_knobs(document, warnings);
  std::string text;
  for (const Warning& warning : warnings) {
    CHECK(warning.code == "variable-without-effect");
    text += warning.text + "\n";
  }
  return text;
}

std::string same(const std::string& strategy) {
  return to_text(parse_yaml(strategy, "t"));
}

}  // namespace

TEST_CASE("The originals' variables set our knobs, in the originals' units", "[config][knobs]") {
  // HOROVOD_FUSION_THRESHOLD counts bytes, HOROVOD_CYCLE_TIME milliseconds.
  CHECK(translated("{name: horovod, HOROVOD_FUSION_THRESHOLD: 67108864}") ==
        same("{name: horovod, fusion_threshold: 67108864 B}"));
  CHECK(translated("{name: horovod, HOROVOD_CYCLE_TIME: 3.5}") ==
        same("{name: horovod, cycle_time: 3.5 ms}"));
  CHECK(translated("{name: horovod, HOROVOD_HIERARCHICAL_ALLREDUCE: 1}") ==
        same("{name: horovod, hierarchical_allreduce: true}"));
  CHECK(translated("{name: horovod, HOROVOD_AUTOTUNE: 1, HOROVOD_BATCH_D2D_MEMCOPIES: 0}") ==
        same("{name: horovod, autotune: true, batch_d2d_memcopies: false}"));
  CHECK(translated("{name: horovod, HOROVOD_DISABLE_GROUP_FUSION: 1}") ==
        same("{name: horovod, disable_group_fusion: true}"));
  CHECK(translated("{name: horovod, HOROVOD_HIERARCHICAL_ALLGATHER: 1}") ==
        same("{name: horovod, hierarchical_allgather: true}"));
  CHECK(translated("{name: horovod, HOROVOD_CACHE_CAPACITY: 0}") ==
        same("{name: horovod, cache_capacity: 0}"));
  CHECK(translated("{name: kungfu_sma, KUNGFU_CONFIG_SERVER: \"http://x/\"}") ==
        same("{name: kungfu_sma, config_server: \"http://x/\"}"));
  CHECK(translated("{name: kungfu_sync, KUNGFU_ALLREDUCE_STRATEGY: RING}") ==
        same("{name: kungfu_sync, graph: \"RING\"}"));
  CHECK(translated("{name: byteps, compression: {name: topk}, BYTEPS_MIN_COMPRESS_BYTES: 9}") ==
        same("{name: byteps, compression: {name: topk, min_compress_bytes: 9 B}}"));
  CHECK(translated("{name: ddp, bucket_cap: 1 MiB}") == same("{name: ddp, bucket_cap: 1 MiB}"));
}

TEST_CASE("A translated value keeps its place", "[config][knobs]") {
  YamlValue document =
      parse_yaml("strategy:\n  name: horovod\n  HOROVOD_CYCLE_TIME: 3.5", "s.yaml");
  std::vector<Warning> warnings;
  translate_original_knobs(document, warnings);
  CHECK(document.find("strategy")->find("cycle_time")->where.line == 3);
}

TEST_CASE("Variables of another strategy are reported, and do not fail a job", "[config][knobs]") {
  CHECK(translated("{name: none, HOROVOD_CYCLE_TIME: 1}") == same("{name: none}"));
  CHECK(told("{name: none, HOROVOD_CYCLE_TIME: 1}") ==
        "'HOROVOD_CYCLE_TIME' has no effect here: it is of horovod, the strategy is 'none'\n");
  CHECK(told("{name: horovod, HOROVOD_CYCLE_TIME: 1}").empty());
  // A preset without compression has none that a variable of compressors could set.
  CHECK(translated("{name: byteps, BYTEPS_THREADPOOL_SIZE: 8}") == same("{name: byteps}"));
  CHECK(told("{name: byteps, BYTEPS_THREADPOOL_SIZE: 8}") ==
        "'BYTEPS_THREADPOOL_SIZE' has no effect here: the strategy has no compression\n");
}

TEST_CASE("Variables that no predicted time depends on are reported, with the reason",
          "[config][knobs]") {
  CHECK(translated("{name: ddp, NCCL_DEBUG: INFO, OMP_NUM_THREADS: 4}") == same("{name: ddp}"));
  CHECK(told("{name: ddp, DMLC_NUM_WORKER: 4}") ==
        "'DMLC_NUM_WORKER' has no effect here: `cluster` says which machines there are\n");
  for (const IdleVariable& variable : shipped_variables().idle) {
    INFO(variable.name);
    CHECK(told("{name: byteps, " + variable.name + ": x}") ==
          "'" + variable.name + "' has no effect here: " + variable.why + "\n");
    CHECK(std::ranges::count(shipped_variables().idle, variable.name, &IdleVariable::name) == 1);
    CHECK(std::ranges::find(shipped_variables().knobs, variable.name, &OriginalKnob::name) ==
          shipped_variables().knobs.end());
  }
}

TEST_CASE("BytePS's roots are a list of ranks, and its mixed mode takes the hash's place",
          "[config][knobs]") {
  // docs/env.md: unset, empty or -1 is reduce-scatter; root 0 alone is a list as well.
  const auto roots = [](const std::string& value) {
    return translated("{name: byteps, BYTEPS_REDUCE_ROOTS: " + value + "}");
  };
  CHECK(roots("0") == same("{name: byteps, reduce_roots: 0}"));
  CHECK(roots("\"0,4\"") == same("{name: byteps, reduce_roots: \"0,4\"}"));
  CHECK(roots("-1") == same("{name: byteps, reduce_roots: -1}"));
  CHECK(roots("\"\"") == same("{name: byteps, reduce_roots: -1}"));
  CHECK_THROWS_WITH(roots("all"),
                    "s.yaml:1:47: 'BYTEPS_REDUCE_ROOTS' is 'all'; expected ranks "
                    "with commas between them, such as 0,4, or -1 for none");
  // global.cc sets the hash to "mixed" whatever BYTEPS_KEY_HASH_FN says.
  const std::string both = "{name: byteps, BYTEPS_ENABLE_MIXED_MODE: 1, BYTEPS_KEY_HASH_FN: sdbm}";
  CHECK(translated(both) == same("{name: byteps, key_hash_fn: mixed}"));
  CHECK(told(both) == "'BYTEPS_KEY_HASH_FN' has no effect here: BYTEPS_ENABLE_MIXED_MODE is set\n");
  CHECK(translated("{name: byteps, BYTEPS_ENABLE_MIXED_MODE: 0}") == same("{name: byteps}"));
}

TEST_CASE("BytePS's variables are taken, each with its effect or the reason why it has none",
          "[config][knobs]") {
  // byteps/common/{global,nccl_manager,cpu_reducer}.cc, byteps/server/server.cc, docs/env.md.
  CHECK(translated("{name: byteps, BYTEPS_NCCL_NUM_RINGS: 2}") ==
        same("{name: byteps, nccl_num_rings: 2}"));
  CHECK(translated("{name: byteps, BYTEPS_SERVER_ENGINE_BLOCKING: 1}") ==
        same("{name: byteps, server_engine_blocking: true}"));
  CHECK(translated("{name: byteps, BYTEPS_PCIE_SWITCH_SIZE: 4}") ==
        same("{name: byteps, pcie_switch_size: 4}"));
  for (const char* name :
       {"BYTEPS_OMP_THREAD_PER_GPU", "BYTEPS_TRACE_ON", "BYTEPS_TRACE_START_STEP",
        "BYTEPS_TRACE_END_STEP", "BYTEPS_TRACE_DIR", "DMLC_NUM_WORKER", "DMLC_ENABLE_RDMA",
        "BYTEPS_LOCAL_SIZE", "BYTEPS_SOCKET_PATH", "BYTEPS_DISABLE_P2P"}) {
    INFO(name);
    const std::string strategy = std::string("{name: byteps, ") + name + ": 1}";
    CHECK(translated(strategy) == same("{name: byteps}"));
    CHECK(told(strategy).starts_with("'" + std::string(name) + "' has no effect here"));
  }
}

TEST_CASE("Variables that count machines or GPUs are reported where the cluster has others",
          "[config][knobs]") {
  const Placement placement = packed_placement(std::vector<int>{4, 4});
  const auto contradictions = [&](const std::string& strategy) {
    std::vector<Warning> warnings;
    check_cluster_variables(parse_yaml(strategy, "s.yaml"), placement, warnings);
    std::string text;
    for (const Warning& warning : warnings) text += warning.text + "\n";
    return text;
  };
  CHECK(contradictions("{name: byteps, DMLC_NUM_WORKER: 2, BYTEPS_LOCAL_SIZE: 4}").empty());
  CHECK(contradictions("{name: byteps, DMLC_NUM_WORKER: 3}") ==
        "'DMLC_NUM_WORKER' is 3, and the cluster has 2 machine(s) of workers: these count\n");
  CHECK(contradictions("{name: byteps, BYTEPS_LOCAL_SIZE: 8}") ==
        "'BYTEPS_LOCAL_SIZE' is 8, and the cluster has 4 GPU(s) a machine: these count\n");
  CHECK_THROWS_WITH(contradictions("{name: byteps, DMLC_NUM_WORKER: many}"),
                    Catch::ContainsSubstring("s.yaml:1:33: 'DMLC_NUM_WORKER'"));
}

TEST_CASE("A variable whose knob has no effect is reported, the knob itself refused",
          "[config][knobs]") {
  // BYTEPS_MIXED_MODE_BOUND is read in mixed mode only.
  const auto read = [](const std::string& strategy) {
    YamlValue document = parse_yaml("strategy: " + strategy, "s.yaml");
    std::vector<Warning> warnings;
    translate_original_knobs(document, warnings);
    YamlMap map(*document.find("strategy"));
    map.require<std::string>("name");
    YamlKnobs knobs(std::move(map), &warnings);
    find_strategy("byteps")->read(knobs);
    knobs.finish();
    return warnings.empty() ? "" : warnings.front().text;
  };
  CHECK(read("{name: byteps, BYTEPS_MIXED_MODE_BOUND: 101}") ==
        "'BYTEPS_MIXED_MODE_BOUND' has no effect here: expected 'key_hash_fn: mixed' beside it");
  CHECK(read("{name: byteps, BYTEPS_MIXED_MODE_BOUND: 101, BYTEPS_ENABLE_MIXED_MODE: 1}").empty());
  CHECK_THROWS_WITH(read("{name: byteps, mixed_mode_bound: 101}"),
                    Catch::ContainsSubstring("'mixed_mode_bound' has no effect here"));
}

TEST_CASE("Variables that nobody reads are refused, and values that nobody takes",
          "[config][knobs]") {
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_FUSION_TRESHOLD: 1}"),
                    "s.yaml:1:27: 'HOROVOD_FUSION_TRESHOLD' is no variable that an original system "
                    "reads; expected one that 'gradwire list variables' shows; did you mean "
                    "'HOROVOD_FUSION_THRESHOLD'?");
  CHECK_THROWS_WITH(translated("{name: none, HOROVOD_CYCLE_TIME: soon}"),
                    Catch::ContainsSubstring("s.yaml:1:44: 'HOROVOD_CYCLE_TIME'"));
  CHECK_THROWS_WITH(translated("{name: horovod, cycle_time: 1 ms, HOROVOD_CYCLE_TIME: 1}"),
                    "s.yaml:1:45: 'HOROVOD_CYCLE_TIME' and 'cycle_time' set the same knob; "
                    "expected one of the two");
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_FUSION_THRESHOLD: 64 MiB}"),
                    Catch::ContainsSubstring("s.yaml:1:53: 'HOROVOD_FUSION_THRESHOLD'"));
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_FUSION_THRESHOLD: -1}"),
                    Catch::ContainsSubstring("s.yaml:1:53: "));
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_HIERARCHICAL_ALLREDUCE: yes}"),
                    Catch::ContainsSubstring("expected one of 0, 1"));
}

TEST_CASE("Every variable's knob is one that its strategies read", "[config][knobs]") {
  for (const OriginalKnob& knob : shipped_variables().knobs) {
    for (const std::string& name : knob.strategies) {
      INFO(knob.name << " of " << name);
      const StrategyEntry* strategy = find_strategy(name);
      if (strategy == nullptr) {
        WARN("there is no strategy '" << name << "' yet");
        continue;
      }
      const std::string outer = knob.key.substr(0, knob.key.find('.'));
      CHECK(std::ranges::find(strategy->parameters, outer, &KeyInfo::name) !=
            strategy->parameters.end());
    }
  }
}
