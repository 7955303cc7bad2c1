#include "sim/validation/pages.hpp"

#include <string>

#include "sim/config/collective/constants_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/outgoing_text.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;

TEST_CASE("The committed page of constants has every constant of the libraries, once",
          "[validation][page]") {
  const std::string page = read_file(GRADWIRE_SOURCE_DIR "/results/reference/constants.md");
  for (const std::string& name : config::data_names(config::DataKind::constants)) {
    const std::string file = config::data_file(config::DataKind::constants, name).string();
    const config::Constants constants(config::loaded_yaml(file));
    const std::size_t from = page.find("(`" + name + ".yaml`)");
    INFO(name);
    REQUIRE(from != std::string::npos);
    const std::string section = page.substr(from, page.find("\n##", from) - from);
    for (const auto& constant : constants.stated()) {
      const std::string row = "| " + markdown_code(constant.name) + " | " + constant.value + " | " +
                              constant.unit + " | " + constant.source.kind + " |";
      INFO(row);
      const std::size_t at = section.find(row);
      CHECK(at != std::string::npos);
      CHECK(section.find(row, at + 1) == std::string::npos);
    }
  }
}

TEST_CASE("The page of constants names the series that use a release of NCCL, and no other",
          "[validation][page][long]") {
  // results/reference/ddlb.yaml: NCCL 2.4.8; lab.yaml: Gloo.
  const std::string page = validation::constants_page({});
  const auto users = [&](const std::string& name) {
    const std::size_t from = page.find("Used by", page.find("(`" + name + ".yaml`)"));
    return page.substr(from, page.find('\n', from) - from);
  };
  CHECK(users("nccl/2.4").find("ddlb") != std::string::npos);
  CHECK(users("nccl/2.28").find("ddlb") == std::string::npos);
  CHECK(users("gloo").find("lab") != std::string::npos);
}
