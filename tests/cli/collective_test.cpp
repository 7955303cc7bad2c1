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

TEST_CASE("An algorithm that cannot run there is refused where it is chosen", "[cli][collective]") {
  const Workplace place("collective_refused");
  place.write("job.yaml",
              "schema: gradwire.scenario/1\n"
              "cluster: {node: dgx1v, nodes: 2, fabric: {kind: single_switch, link: ib_edr}}\n"
              "collective: {library: flows, algorithm: nvls}\n");
  const auto run = place.run("collective job.yaml --json c.json");
  CHECK(run.code == 3);
  CHECK(run.err.starts_with("job.yaml:3:23: nvls reduces inside one machine; expected "));
  CHECK_FALSE(place.has("c.json"));
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
  // Asked for by name it is one, at the library.
  const auto named = place.run("collective job.yaml --op reduce_scatter --sizes 1MiB");
  CHECK(named.code == 3);
  CHECK(named.err.starts_with("job.yaml:7:23: "));
}

/// Two machines of 4 L40: on 100 Gbit/s NCCL plans with the port's speed and takes a ring, of which
/// each connection carries 25 Gbit/s as before.
std::string l40_pair(const std::string& link, const std::string& more = "") {
  return "schema: gradwire.scenario/1\n"
         "profile: resnet50/v100-sxm2-32gb_fp32_b32\n"
         "cluster: {node: pcie4_4x_l40, nodes: 2, fabric: {kind: single_switch, link: " +
         link +
         "}}\n"
         "strategy: {name: ddp, bucket_cap: 25 MiB}\n"
         "run: {iterations: 2, warmup: 1, seed: 1}\n" +
         more;
}

TEST_CASE("A slower way that NCCL takes is reported, with what to set", "[cli][collective]") {
  const Workplace place("collective_choice");
  place.write("slow.yaml", l40_pair("eth_100g"));
  const auto run = place.run("collective slow.yaml --sizes 1GiB --json c.json");
  INFO(run.out << run.err);
  REQUIRE(run.code == 0);
  const std::string told =
      "NCCL takes ring (601 ms); tree would take 346 ms (NCCL_ALGO=Tree); all_reduce of 1024 MiB";
  CHECK(count(run.out, "# collective-choice: " + told) == 1);
  const Json json = Json::parse(place.text("c.json"));
  CHECK(json.at("warnings").at(0).at("code") == "collective-choice");
  CHECK(json.at("warnings").at(0).at("text") == told);
  // What it says to set brings what it says.
  place.write("tree.yaml", l40_pair("eth_100g", "collective: {library: nccl, algorithm: tree}\n"));
  const auto tree = place.run("collective tree.yaml --sizes 1GiB --json tree.json");
  CHECK(count(tree.out, "collective-choice") == 0);
  const Json row = Json::parse(place.text("tree.json")).at("rows").at(0);
  CHECK(row.at("time_us").get<double>() == Approx(346e3).epsilon(0.002));
}

TEST_CASE("A run tells once of a slower way that carries much of its bytes", "[cli][run]") {
  const Workplace place("run_choice");
  place.write("slow.yaml", l40_pair("eth_100g"));
  place.write("quick.yaml", l40_pair("eth_25g"));
  REQUIRE(place.run("run slow.yaml --json slow.json").code == 0);
  REQUIRE(place.run("run quick.yaml --json quick.json").code == 0);
  const auto choices = [&](const std::string& file) {
    int found = 0;
    const Json result = Json::parse(place.text(file));
    for (const Json& warning : result.at("warnings")) {
      // (The buffers' broadcast is reported as well: LL would do for it.)
      const auto text = warning.at("text").get<std::string>();
      const bool is_choice = warning.at("code") == "collective-choice";
      found += is_choice && text.find("all_reduce") != std::string::npos ? 1 : 0;
    }
    return found;
  };
  CHECK(choices("slow.json") == 1);
  CHECK(choices("quick.json") == 0);
}

}  // namespace
}  // namespace gradwire
