#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

// Every row of every series, its gate and whether it misses: a miss that comes or goes changes the
// page; a gate that is missed or met against expected_misses.yaml fails the run.
TEST_CASE("The committed pages are what the program makes now", "[validation][page][long]") {
  const Workplace place("validation_pages");
  const auto run = place.run("validate --strict --write . --quiet");
  INFO(run.err);
  REQUIRE(run.code == 0);
  INFO("to remake them: gradwire validate --write results/reference");
  for (const std::string page :
       {"collectives.md", "training.md", "lab.md", "llm.md", "constants.md", "intervals.md"}) {
    INFO(page);
    CHECK(place.text(page) == read_file(GRADWIRE_SOURCE_DIR "/results/reference/" + page));
  }
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
