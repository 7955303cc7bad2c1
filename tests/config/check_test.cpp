#include "sim/config/check.hpp"

#include <filesystem>

#include "sim/config/data_files.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::config;

TEST_CASE("every data file and scenario of the repository is accepted", "[config][check]") {
  setenv("GRADWIRE_DATA", GRADWIRE_SOURCE_DIR, 1);
  int checked = 0;
  for (const char* folder : {"/profiles", "/topologies", "/scenarios", "/strategies"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(GRADWIRE_SOURCE_DIR + std::string(folder))) {
      if (entry.path().extension() != ".yaml") continue;
      CHECK_NOTHROW(check_file(entry.path().string()));
      ++checked;
    }
  }
  CHECK(checked > 0);
}

TEST_CASE_METHOD(ConfigFixture, "a sweep is checked at every value of every axis",
                 "[config][check]") {
  const std::string text = good;
  CHECK_NOTHROW(check_file(write(text + "vary: {cluster.nodes: [2, 3], run.seed: [1, 2]}\n")));
  const std::string bad = write(text + "vary: {cluster.nodes: [2, 3], run.seed: [1, -2]}\n");
  CHECK_THROWS_WITH(check_file(bad), bad +
                                         ":12:45: 'seed' is '-2'; expected a whole number, at "
                                         "least 0");
}

TEST_CASE_METHOD(ConfigFixture, "a file of an unknown schema is refused", "[config][check]") {
  const std::string file = write("schema: gradwire.scenarios/1\n");
  CHECK_THROWS_WITH(
      check_file(file),
      file +
          ":1:9: 'schema' is 'gradwire.scenarios/1'; expected one of gradwire.scenario/1, "
          "gradwire.compute_profile/1, gradwire.collective_table/1, gradwire.compressor_costs/1, "
          "gradwire.gpu/1, gradwire.efficiencies/1, gradwire.node_topology/1, "
          "gradwire.cluster_topology/1, gradwire.links/1, gradwire.hosts/1, gradwire.model/1, "
          "gradwire.decoders/1, gradwire.constants/1, gradwire.presets/1, gradwire.variables/1, "
          "gradwire.calibrated/1, "
          "gradwire.collective_measurements/1; did you "
          "mean 'gradwire.scenario/1'?");
}

TEST_CASE_METHOD(ConfigFixture, "data files are listed by kind", "[config][data]") {
  CHECK(data_names(DataKind::profile) == std::vector<std::string>{"tiny/small-gpu_fp32_b4"});
  CHECK(data_names(DataKind::gpu) == std::vector<std::string>{"big-gpu", "small-gpu"});
  CHECK(data_names(DataKind::efficiencies) == std::vector<std::string>{"made_up"});
  CHECK(data_names(DataKind::node) == std::vector<std::string>{"pair"});
  CHECK(data_names(DataKind::collective_table) == std::vector<std::string>{"small"});
  CHECK(data_names(DataKind::compressor_costs) == std::vector<std::string>{"small"});
}

TEST_CASE_METHOD(ConfigFixture, "a path is relative to the file that names it", "[config][data]") {
  const std::string here = write("x: 1\n", "own.yaml");
  const YamlValue value = parse_yaml("own.yaml", write("profile: own.yaml\n"));
  CHECK(find_data(DataKind::profile, value, "profile") == here);
}
