#include "sim/config/original_knobs.hpp"

#include <algorithm>
#include <string>

#include "sim/config/strategy_catalogue.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

std::string translated(const std::string& strategy) {
  YamlValue document = parse_yaml("strategy: " + strategy, "s.yaml");
  translate_original_knobs(document);
  return to_text(*document.find("strategy"));
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
  CHECK(translated("{name: horovod, HOROVOD_CACHE_CAPACITY: 0}") ==
        same("{name: horovod, cache_capacity: 0}"));
  CHECK(translated("{name: kungfu_sync, KUNGFU_ALLREDUCE_STRATEGY: RING}") ==
        same("{name: kungfu_sync, graph: \"RING\"}"));
  CHECK(translated("{name: byteps, compression: {name: topk}, BYTEPS_MIN_COMPRESS_BYTES: 9}") ==
        same("{name: byteps, compression: {name: topk, min_compress_bytes: 9 B}}"));
  CHECK(translated("{name: ddp, bucket_cap: 1 MiB}") == same("{name: ddp, bucket_cap: 1 MiB}"));
}

TEST_CASE("A translated value keeps its place", "[config][knobs]") {
  YamlValue document =
      parse_yaml("strategy:\n  name: horovod\n  HOROVOD_CYCLE_TIME: 3.5", "s.yaml");
  translate_original_knobs(document);
  CHECK(document.find("strategy")->find("cycle_time")->where.line == 3);
}

TEST_CASE("Variables that mean nothing here are refused", "[config][knobs]") {
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_FUSION_TRESHOLD: 1}"),
                    "s.yaml:1:27: 'HOROVOD_FUSION_TRESHOLD' is no variable that an original system "
                    "reads, or none that matters here; expected one that 'gradwire list variables' "
                    "shows; did you mean 'HOROVOD_FUSION_THRESHOLD'?");
  CHECK_THROWS_WITH(translated("{name: ddp, HOROVOD_CYCLE_TIME: 1}"),
                    "s.yaml:1:23: 'HOROVOD_CYCLE_TIME' is of horovod, the strategy is 'ddp'; "
                    "expected a variable of its own");
  CHECK_THROWS_WITH(translated("{name: horovod, cycle_time: 1 ms, HOROVOD_CYCLE_TIME: 1}"),
                    "s.yaml:1:45: 'HOROVOD_CYCLE_TIME' and 'cycle_time' say the same thing; "
                    "expected one of the two");
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_FUSION_THRESHOLD: 64 MiB}"),
                    Catch::ContainsSubstring("s.yaml:1:53: 'HOROVOD_FUSION_THRESHOLD'"));
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_FUSION_THRESHOLD: -1}"),
                    Catch::ContainsSubstring("s.yaml:1:53: "));
  CHECK_THROWS_WITH(translated("{name: horovod, HOROVOD_HIERARCHICAL_ALLREDUCE: yes}"),
                    Catch::ContainsSubstring("expected one of 0, 1"));
}

TEST_CASE("Every variable's knob is one that its strategies read", "[config][knobs]") {
  for (const OriginalKnob& knob : original_knobs()) {
    for (const std::string& name : knob.strategies) {
      INFO(knob.name << " of " << name);
      const StrategyEntry* strategy = find_strategy(name);
      if (strategy == nullptr) {
        WARN("there is no strategy '" << name << "' yet");
        continue;
      }
      const std::string outer = knob.key.substr(0, knob.key.find('.'));
      CHECK(std::ranges::find(strategy->parameters, outer, &ParameterInfo::name) !=
            strategy->parameters.end());
    }
  }
}
