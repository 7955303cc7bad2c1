#include "sim/config/yaml/overlay.hpp"

#include "sim/config/yaml/yaml_map.hpp"
#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

YamlValue with_set(const std::string& text, const std::string& assignment) {
  YamlValue document = parse_yaml(text, "s.yaml");
  apply(document, parse_set(assignment));
  return document;
}

}  // namespace

TEST_CASE("an override replaces a value and makes the mappings on its way", "[config][set]") {
  CHECK(
      to_text(with_set("strategy: {name: ddp, bucket_cap: 25 MiB}", "strategy.bucket_cap=1MiB")) ==
      "{strategy: {name: ddp, bucket_cap: 1MiB}}");
  CHECK(to_text(with_set("name: x", "cluster.fabric.link=ib_edr")) ==
        "{name: x, cluster: {fabric: {link: ib_edr}}}");
  CHECK(to_text(with_set("name: x", "stragglers=[{ranks: [3], compute: 1.5}]")) ==
        "{name: x, stragglers: [{ranks: [3], compute: 1.5}]}");
  CHECK(to_text(with_set("profile: resnet50/v100", "profile.iteration_time=97 ms")) ==
        "{profile: {file: resnet50/v100, iteration_time: 97 ms}}");
  CHECK(to_text(with_set("strategy: horovod", "strategy.cycle_time=1 ms")) ==
        "{strategy: {name: horovod, cycle_time: 1 ms}}");
}

TEST_CASE("an error in an overridden value is reported on the command line", "[config][set]") {
  const YamlValue document = with_set("run: {seed: 1}", "run.iterations=many");
  YamlMap run = YamlMap(document).require_map("run");
  CHECK_THROWS_WITH(run.require<int>("iterations"),
                    "--set run.iterations=many:1:16: 'iterations' is 'many'; expected a whole "
                    "number");
}

TEST_CASE("a misspelt key of an override is reported at its own letters", "[config][set]") {
  const YamlValue document = with_set("run: {seed: 1}", "run.iteratoins=5");
  YamlMap run = YamlMap(document).require_map("run");
  run.find("seed");
  run.find("iterations");
  CHECK_THROWS_WITH(run.finish(),
                    "--set run.iteratoins=5:1:5: unknown key 'iteratoins'; expected one of seed, "
                    "iterations; did you mean 'iterations'?");
}

TEST_CASE("an error in a variable of --env is reported at its own letters", "[config][set]") {
  const Override change = parse_set("--env HOROVOD_X=1");
  CHECK(change.path == "strategy.HOROVOD_X");
  YamlValue document = parse_yaml("strategy: {name: horovod}", "s.yaml");
  apply(document, change);
  const SourceLocation where = document.find("strategy")->entries.back().where;
  CHECK(where.file == "--env HOROVOD_X=1");
  CHECK(where.column == 1);
  CHECK(document.find("strategy")->entries.back().value.where.column == 11);
  CHECK_THROWS_WITH(parse_set("--env HOROVOD_X"),
                    "--env HOROVOD_X:1:1: not an assignment; expected NAME=VALUE such as "
                    "'HOROVOD_CYCLE_TIME=3.5'");
}

TEST_CASE("an override reaches into an item of a list by its number", "[config][set]") {
  CHECK(to_text(with_set("groups: [{nodes: 1}, {nodes: 2}]", "groups.1.nodes=8")) ==
        "{groups: [{nodes: 1}, {nodes: 8}]}");
  CHECK(to_text(with_set("a: [1, 2]", "a.0=3")) == "{a: [3, 2]}");
}

TEST_CASE("an override that is no assignment of a value is refused", "[config][set]") {
  const std::string expectation =
      "not an assignment; expected KEY=VALUE such as 'strategy.bucket_cap=25 MiB'";
  CHECK_THROWS_WITH(parse_set("strategy"), "--set strategy:1:1: " + expectation);
  CHECK_THROWS_WITH(parse_set("=5"), "--set =5:1:1: " + expectation);
  CHECK_THROWS_WITH(
      parse_set("a=[1, 2"),
      "--set a=[1, 2:1:3: YAML syntax: a list in brackets is not closed by ']'; expected "
      "well-formed YAML");
  CHECK_THROWS_WITH(with_set("a: 1", "b..c=1"),
                    "--set b..c=1:1:3: an empty name in 'b..c'; expected names joined by dots");
  CHECK_THROWS_WITH(
      with_set("a: [1]", "a.b=1"),
      "--set a.b=1:1:3: 'a' has no item 'b', it is a list of 1; expected a number from 0 to 0");
  CHECK_THROWS_WITH(with_set("a: [1, 2]", "a.2=1"),
                    "--set a.2=1:1:3: 'a' has no item '2', it is a list of 2; expected a number "
                    "from 0 to 1");
}
