#include "sim/config/yaml/yaml_map.hpp"

#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::config;

TEST_CASE("a key that nobody asked for is refused with the nearest one", "[config][map]") {
  const YamlValue document = parse_yaml("name: ddp\nbukcet_cap: 25 MiB\n", "s.yaml");
  YamlMap map(document);
  CHECK(map.require<std::string>("name") == "ddp");
  CHECK(map.value_or("bucket_cap", Bytes{7}) == Bytes{7});
  CHECK_THROWS_WITH(map.finish(),
                    "s.yaml:2:1: unknown key 'bukcet_cap'; expected one of name, bucket_cap; did "
                    "you mean 'bucket_cap'?");
}

TEST_CASE("words of parallelism are refused by name, as any program writes them", "[config][map]") {
  const auto refusal = [](const std::string& key) {
    const YamlValue document = parse_yaml(key + ": 2\n", "s.yaml");
    try {
      YamlMap(document).finish();
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const auto& [key, kind] : {std::pair{"tensor_parallel_degree", "tensor"},
                                  {"tensor-model-parallel-size", "tensor"},
                                  {"tp_size", "tensor"},
                                  {"autotp_size", "tensor"},
                                  {"pp", "pipeline"},
                                  {"num_pipeline_stages", "pipeline"},
                                  {"context_parallel_size", "context"},
                                  {"ulysses_degree", "context"},
                                  {"sequence_parallel", "sequence"},
                                  {"expert_model_parallel_size", "expert"},
                                  {"EP_size", "expert"}}) {
    CAPTURE(key);
    CHECK_THAT(refusal(key),
               Catch::Matchers::StartsWith("s.yaml:1:1: not modelled yet: " + std::string(key) +
                                           " (" + kind + " parallelism)"));
  }
  CHECK_THAT(refusal("data_parallel_replicate_degree"),
             Catch::Matchers::StartsWith(
                 "s.yaml:1:1: 'data_parallel_replicate_degree' follows from the GPUs "
                 "of 'cluster'"));
  CHECK_THAT(refusal("type"), Catch::Matchers::StartsWith("s.yaml:1:1: unknown key 'type'"));
  // Who asks for such a key has it.
  const YamlValue document = parse_yaml("data_parallel_shard_degree: 8\n", "s.yaml");
  YamlMap map(document);
  CHECK(map.require<int>("data_parallel_shard_degree") == 8);
  map.finish();
}

TEST_CASE("a missing key is reported with what it should hold", "[config][map]") {
  const YamlValue document = parse_yaml("cluster: {node: dgx1v, ndoes: 2}\n", "s.yaml");
  YamlMap cluster = YamlMap(document).require_map("cluster");
  CHECK(cluster.require<std::string>("node") == "dgx1v");
  CHECK_THROWS_WITH(cluster.require<Seconds>("latency"),
                    "s.yaml:1:10: missing key 'latency'; expected a time such as '20 us' (units s, "
                    "ms, us, ns)");
  CHECK_THROWS_WITH(cluster.require<int>("nodes"),
                    "s.yaml:1:24: missing key 'nodes'; expected a whole number; is 'ndoes' a "
                    "misspelling of it?");
}

TEST_CASE("a value of the wrong type is reported at its place", "[config][map]") {
  const YamlValue document =
      parse_yaml("cap: big\nrun: 5\nranks: 3\nshape: [1, x]\npoints: [1]\n", "s.yaml");
  YamlMap map(document);
  CHECK_THROWS_WITH(map.require<int>("cap"), "s.yaml:1:6: 'cap' is 'big'; expected a whole number");
  CHECK_THROWS_WITH(map.require_map("run"), "s.yaml:2:6: 'run' is '5'; expected a mapping");
  CHECK_THROWS_WITH(map.list<int>("ranks"),
                    "s.yaml:3:8: 'ranks' is '3'; expected a list, each item a whole number");
  CHECK_THROWS_WITH(map.list<int>("shape"), "s.yaml:4:12: 'shape' is 'x'; expected a whole number");
  CHECK_THROWS_WITH(map.maps("points"), "s.yaml:5:10: 'points' is '1'; expected a mapping");
}

TEST_CASE("a value out of range is reported with the range", "[config][map]") {
  const YamlValue document = parse_yaml("n: 0\nt: 0 s\nshare: 150 %\n", "s.yaml");
  YamlMap map(document);
  CHECK_THROWS_WITH(map.require<int>("n", at_least(1)),
                    "s.yaml:1:4: 'n' is '0'; expected a whole number, at least 1");
  CHECK_THROWS_WITH(map.require<Seconds>("t", above(Seconds{0})),
                    "s.yaml:2:4: 't' is '0 s'; expected a time such as '20 us' (units s, ms, us, "
                    "ns), above 0 s");
  CHECK_THROWS_WITH(map.require<Ratio>("share", between(Ratio{0}, Ratio{1})),
                    "s.yaml:3:8: 'share' is '150 %'; expected a share such as '1.5 %', at least 0 "
                    "%, at most 100 %");
  CHECK(map.require<int>("n", at_least(0)) == 0);
}

TEST_CASE("a choice is reported with its names", "[config][map]") {
  const YamlValue document = parse_yaml("kind: singel_switch\n", "s.yaml");
  const std::vector<std::string> known = {"single_switch", "fat_tree"};
  CHECK_THROWS_WITH(YamlMap(document).require_choice("kind", known),
                    "s.yaml:1:7: 'kind' is 'singel_switch'; expected one of single_switch, "
                    "fat_tree; did you mean 'single_switch'?");
}

TEST_CASE("a document of another schema, or of none, is refused", "[config][map]") {
  const YamlValue other = parse_yaml("schema: gradwire.gpu/1\n", "s.yaml");
  CHECK_THROWS_WITH(YamlMap(other).require_schema("gradwire.scenario/1"),
                    "s.yaml:1:9: 'schema' is 'gradwire.gpu/1'; expected gradwire.scenario/1");
  const YamlValue none = parse_yaml("name: x\n", "s.yaml");
  CHECK_THROWS_WITH(YamlMap(none).require_schema("gradwire.scenario/1"),
                    "s.yaml:1:1: missing key 'schema'; expected gradwire.scenario/1");
  CHECK_THROWS_WITH(YamlMap(parse_yaml("# nothing\n", "s.yaml")),
                    "s.yaml:1:1: the document is empty; expected a mapping");
}

TEST_CASE("a key without a value is reported where it stands, not at the next one",
          "[config][map]") {
  const YamlValue document = parse_yaml("node: x\nnodes:\nfabric: y\n", "s.yaml");
  YamlMap map(document);
  CHECK_THROWS_WITH(map.require<int>("nodes"),
                    "s.yaml:2:1: 'nodes' is empty; expected a whole number");
}

TEST_CASE("a key of a later version is refused, not ignored", "[config][map]") {
  const YamlValue document = parse_yaml("events: []\n", "s.yaml");
  CHECK_THROWS_WITH(YamlMap(document).refuse("events"),
                    "s.yaml:1:1: not modelled yet: events; expected no such key");
}
