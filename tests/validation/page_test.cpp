#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

TEST_CASE("The committed page of collectives is what the program makes now", "[validation][page]") {
  const Workplace place("validation_page");
  const auto run = place.run("validate collectives --write . --quiet");
  INFO(run.err);
  REQUIRE(run.code == 0);
  const std::string committed = read_file(GRADWIRE_SOURCE_DIR "/results/reference/collectives.md");
  INFO("to remake it: gradwire validate collectives --write results/reference");
  CHECK(place.text("collectives.md") == committed);
}

TEST_CASE("A validation gives the same bytes whatever runs beside it", "[validation][page]") {
  const Workplace place("validation_same");
  const auto alone = place.run("validate collectives -j 1 --quiet --json one.json");
  const auto beside = place.run("validate collectives -j 4 --quiet --json four.json");
  CHECK(alone.code == 0);
  CHECK(alone.out == beside.out);
  CHECK(place.text("one.json") == place.text("four.json"));
}

}  // namespace
}  // namespace gradwire
