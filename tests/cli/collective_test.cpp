#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("Several operations give a table each, one file and one picture", "[cli][collective]") {
  const Workplace place("collective_several");
  place.write("job.yaml", scenario());
  const auto run = place.run(
      "collective job.yaml --op all_reduce,broadcast --sizes 1MiB:4MiB:x2 --json c.json --svg "
      "c.svg");
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.out.find("# all_reduce on 4 ranks\n#\n# Using devices\n#  ranks 0-3: node0.gpu0-3\n") ==
        0);
  CHECK(count(run.out, "# broadcast on 4 ranks") == 1);
  CHECK(count(run.out, "# Avg bus bandwidth") == 2);
  const Json json = Json::parse(place.text("c.json"));
  CHECK(json.at("schema") == "gradwire.collectives/1");
  CHECK(json.at("collectives").at(1).at("op") == "broadcast");
  CHECK(json.at("collectives").at(1).at("rows").size() == 3);
  const std::string picture = place.text("c.svg");
  CHECK(count(picture, "<polyline") == 2);
  CHECK(count(picture, "<circle") == 2 * 3 + 2);  // a point a size, and the legend's
}

TEST_CASE("One operation keeps its own schema, and colours its points by algorithm",
          "[cli][collective]") {
  const Workplace place("collective_one");
  place.write("job.yaml", scenario());
  REQUIRE(place.run("collective job.yaml --sizes 1KiB:16MiB:x4 --json c.json --svg c.svg").code ==
          0);
  const Json json = Json::parse(place.text("c.json"));
  CHECK(json.at("schema") == "gradwire.collective/1");
  const Json& row = json.at("rows").at(0);
  std::string how = row.at("algorithm").get<std::string>();
  if (row.at("protocol") != "") how += ", " + row.at("protocol").get<std::string>();
  CHECK(place.text("c.svg").find(how + "</text>") != std::string::npos);
}

TEST_CASE("Option --op all tells of the operations that the library has not", "[cli][collective]") {
  const Workplace place("collective_all");
  place.write("job.yaml", scenario("collective: {library: gloo}\n"));
  const auto run = place.run("collective job.yaml --op all --sizes 1MiB");
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK(count(run.out, "# all_reduce on 4 ranks") == 1);
  // ProcessGroupGloo of PyTorch 1.13 has no reduce_scatter.
  CHECK(count(run.out, "# reduce_scatter: ") == 1);
  CHECK(count(run.out, "# reduce_scatter on") == 0);
  // Asked for by name it is an error.
  CHECK(place.run("collective job.yaml --op reduce_scatter --sizes 1MiB").code == 1);
}

}  // namespace
}  // namespace gradwire
