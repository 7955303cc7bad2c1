#include "sim/config/strategy/contenders.hpp"

#include <algorithm>
#include <string>

#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

/// The strategy of a scenario after a contender has been put in, as one line of YAML.
std::string put(const std::string& scenario, const std::string& contender) {
  YamlValue document = parse_yaml(scenario, "s.yaml");
  put_contender(document, parse_contenders(contender, "--strategies").front());
  return to_text(*document.find("strategy"));
}

std::string same(const std::string& strategy) {
  return to_text(parse_yaml(strategy, "t"));
}

}  // namespace

TEST_CASE_METHOD(ConfigFixture, "A contender is a strategy or preset, knobs, a compression",
                 "[config][compare]") {
  CHECK(put("{}", "wfbp") == same("{name: wfbp}"));
  CHECK(put("{}", "made_up/plain") == same("{preset: made_up/plain}"));
  CHECK(put("{}", "ddp(bucket_cap=1 MiB, version=\"1.4\")") ==
        same("{name: ddp, bucket_cap: 1 MiB, version: \"1.4\"}"));
  CHECK(put("{}", "ddp+powersgd(rank=4)") ==
        same("{name: ddp, compression: {name: powersgd, rank: 4}}"));
  CHECK(put("{}", "ddp(a={b: 1, c: 2})") == same("{name: ddp, a: {b: 1, c: 2}}"));
  CHECK(put("{}", " ddp ( a = 1 , b = 2 ) + powersgd ( rank = 4 )") ==
        same("{name: ddp, a: 1, b: 2, compression: {name: powersgd, rank: 4}}"));
}

TEST_CASE_METHOD(ConfigFixture, "The scenario's own strategy keeps its knobs, others take none",
                 "[config][compare]") {
  const std::string own =
      "strategy: {name: ddp, bucket_cap: 2 MiB, grad_accumulation: 4, servers: {count: 2}}";
  CHECK(put(own, "ddp") ==
        same("{bucket_cap: 2 MiB, grad_accumulation: 4, servers: {count: 2}, name: ddp}"));
  CHECK(put(own, "ddp(bucket_cap=1 MiB)") ==
        same("{grad_accumulation: 4, servers: {count: 2}, name: ddp, bucket_cap: 1 MiB}"));
  CHECK(put(own, "wfbp") == same("{grad_accumulation: 4, name: wfbp}"));
  CHECK(put(own, "made_up/plain") == same("{grad_accumulation: 4, preset: made_up/plain}"));
}

TEST_CASE_METHOD(ConfigFixture, "Every contender is given the scenario's variables",
                 "[config][compare]") {
  const std::string own = "strategy: {name: ddp, bucket_cap: 2 MiB, HOROVOD_CYCLE_TIME: 1}";
  CHECK(put(own, "horovod") == same("{HOROVOD_CYCLE_TIME: 1, name: horovod}"));
  CHECK(put(own, "horovod(cycle_time=3 ms)") == same("{name: horovod, cycle_time: 3 ms}"));
  CHECK(put(own, "ddp") == same("{bucket_cap: 2 MiB, HOROVOD_CYCLE_TIME: 1, name: ddp}"));
}

TEST_CASE_METHOD(ConfigFixture, "Others take the scenario's compression, but for one of their own",
                 "[config][compare]") {
  const std::string own = "strategy: {name: ddp, bucket_cap: 2 MiB, compression: {name: fp16}}";
  CHECK(put(own, "wfbp") == same("{compression: {name: fp16}, name: wfbp}"));
  CHECK(put(own, "made_up/plain") == same("{compression: {name: fp16}, preset: made_up/plain}"));
  CHECK(put(own, "wfbp+topk") == same("{name: wfbp, compression: {name: topk}}"));
  CHECK(put(own, "ddp+topk") == same("{bucket_cap: 2 MiB, name: ddp, compression: {name: topk}}"));
}

TEST_CASE_METHOD(ConfigFixture,
                 "Contenders whose gradients cannot be of the scenario's type have fp32",
                 "[config][compare]") {
  std::string text = good;
  text.replace(text.find("bucket_cap"), 10, "gradient_dtype: fp16, bucket_cap");
  const std::string file = write(text);
  const auto warnings = [&](const std::string& contender) {
    std::string told;
    for (const auto& warning :
         read_contender(file, {}, "", parse_contenders(contender, "-s").front(), {}).warnings) {
      if (warning.code == "gradient-dtype-left-out") told += warning.text;
    }
    return told;
  };
  CHECK(warnings("bsp").empty());
  CHECK(warnings("fsdp") == "runs with gradients of fp32: 'fsdp' exchanges fp32");
  CHECK(warnings("ddp+topk") == "runs with gradients of fp32: 'compression' codes fp32");
}

TEST_CASE_METHOD(ConfigFixture, "What is no contender is refused", "[config][compare]") {
  const auto refuse = [](const std::string& text) { return parse_contenders(text, "-s"); };
  CHECK_THROWS_WITH(refuse("ddp,wfpb"), Catch::ContainsSubstring("-s:1:5: 'wfpb' is no strategy") &&
                                            Catch::ContainsSubstring("did you mean 'wfbp'?"));
  CHECK_THROWS_WITH(refuse("made_up/plane"),
                    Catch::ContainsSubstring("did you mean 'made_up/plain'?"));
  CHECK_THROWS_WITH(refuse(""), Catch::ContainsSubstring("-s:1:1: an empty name"));
  CHECK_THROWS_WITH(refuse("ddp, ddp"), Catch::ContainsSubstring("-s:1:6: 'ddp' is there twice"));
  CHECK_THROWS_WITH(refuse("ddp(x"), Catch::ContainsSubstring("no closing parenthesis"));
  CHECK_THROWS_WITH(refuse("ddp(x)"), Catch::ContainsSubstring("-s:1:5: 'x' sets no knob"));
  CHECK_THROWS_WITH(
      refuse("ddp(name=bsp)"),
      Catch::ContainsSubstring("-s:1:5: 'name' is no knob; expected the name before"));
  CHECK_THROWS_WITH(refuse("ddp(x=1, preset=made_up/plain)"),
                    Catch::ContainsSubstring("-s:1:10: 'preset' is no knob"));
  CHECK_THROWS_WITH(refuse("ddp+topk(name=fp16)"),
                    Catch::ContainsSubstring("-s:1:10: 'name' is no knob"));
  CHECK_THROWS_WITH(refuse("ddp+a+b"), Catch::ContainsSubstring("-s:1:7: a second compression"));
}

TEST_CASE("All contenders are every strategy of the catalogue and readable names",
          "[config][compare]") {
  const auto all = all_contenders();
  for (const StrategyEntry& entry : strategy_catalogue()) {
    const bool there = std::ranges::any_of(all, [&](const std::string& name) {
      return name == entry.name || name.starts_with(entry.name + "(");
    });
    CHECK(there);
  }
  CHECK(all.size() >= strategy_catalogue().size() + 30);
}
