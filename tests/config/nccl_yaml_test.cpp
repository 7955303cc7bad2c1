#include "sim/config/collective/nccl_yaml.hpp"

#include <string>

#include "sim/config/collective/collective_catalogue.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire::config {
namespace {

std::shared_ptr<const CollectiveLibrary> read(const std::string& keys,
                                              std::vector<Warning>* warnings = nullptr) {
  const YamlValue document =
      parse_yaml("collective: {library: nccl" + keys + "}\n", "scenario.yaml");
  YamlMap map(document, "scenario");
  std::vector<Warning> ignored;
  return read_collective(map, std::make_shared<const Cluster>(test::dgx1v_cluster(2)),
                         warnings == nullptr ? ignored : *warnings);
}

std::string planned(const std::string& keys) {
  const auto library = read(keys);
  std::string names;
  for (const Pattern& pattern :
       library->plan(CollectiveKind::all_reduce, packed_placement(test::dgx1v_cluster(2), 8))) {
    names += pattern.algorithm + " ";
  }
  return names;
}

}  // namespace

TEST_CASE("nccl's algorithm is a list as in NCCL_ALGO", "[config][nccl]") {
  CHECK(planned("") == "tree ring ");
  CHECK(planned(", algorithm: auto") == "tree ring ");
  CHECK(planned(", algorithm: ring") == "ring ");
  CHECK(planned(", algorithm: \"ring,tree\"") == "tree ring ");
  CHECK(planned(", algorithm: ^tree") == "ring ");
  CHECK(planned(", algorithm: \"tree,collnet_chain\", collnet: true") == "tree collnet_chain ");
}

TEST_CASE("What nccl cannot be given is refused where it stands", "[config][nccl]") {
  const auto [keys, message] = GENERATE(table<std::string, std::string>({
      {", algorithm: trie",
       "'algorithm' names 'trie'; expected auto, or names of tree, ring, collnet_direct"},
      {", protocol: \"ll,lll\"",
       "'protocol' names 'lll'; expected auto, or names of ll, ll128, simple"},
      {", algorithm: nvls, protocol: ll", "is not one that these algorithms have"},
      {", protocol: \"^ll,ll128,simple\"", "'protocol' leaves nothing"},
      {", channels: 65", "channels"},
      {", channels: 4, max_channels: 8", "stands beside min_channels or max_channels"},
      {", min_channels: 8, max_channels: 4", "expected at most max_channels, 4"},
      {", gpus_per_process: 0", "gpus_per_process"},
      {", host_per_call: 21", "expected a time such as"},
      {", version: \"3.1\"", "expected a release of NCCL 2"},
      {", colnet: true", "did you mean 'collnet'"},
  }));
  INFO(keys);
  CHECK_THROWS_WITH(read(keys), Catch::ContainsSubstring(message));
}

TEST_CASE("A version outside of what is known is priced with the nearest, and says so",
          "[config][nccl]") {
  std::vector<Warning> warnings;
  static_cast<void>(read(", version: \"2.3.7\"", &warnings));
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().text == "NCCL 2.3.7 is priced with the constants of 2.4");
  warnings.clear();
  static_cast<void>(read(", version: \"2.18.5\"", &warnings));
  CHECK(warnings.empty());
}

}  // namespace gradwire::config
