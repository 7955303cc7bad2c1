#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr const char* axes =
    "vary: {cluster.gpus_per_node: [1, 2, 4], strategy.bucket_cap: [1 MiB, 25 MiB]}\n";

TEST_CASE("A sweep runs every combination, in the order of the axes", "[cli][sweep]") {
  const Workplace place("sweep");
  place.write("s.yaml", scenario(axes));
  const auto run = place.run("sweep s.yaml -j 3 --csv a.csv --json a.json");
  CHECK(run.code == 0);
  const Json json = Json::parse(place.text("a.json"));
  CHECK(json["schema"] == "gradwire.results/1");
  REQUIRE(json["results"].size() == 6);
  const std::vector<int> ranks = {1, 1, 2, 2, 4, 4};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(json["results"][i]["world_size"] == ranks[i]);
    CHECK(json["results"][i]["vary"]["strategy.bucket_cap"] == (i % 2 == 0 ? "1 MiB" : "25 MiB"));
  }
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 7);
  CHECK(place.run("sweep s.yaml -j 1 --csv b.csv").code == 0);
  CHECK(place.text("a.csv") == place.text("b.csv"));
}

TEST_CASE("A sweep's point is what run predicts for the same keys", "[cli][sweep]") {
  const Workplace place("same_as_run");
  place.write("s.yaml", scenario("vary: {cluster.gpus_per_node: [2]}\n"));
  place.write("r.yaml", scenario());
  CHECK(place.run("sweep s.yaml --json s.json").code == 0);
  CHECK(place.run("run r.yaml --set cluster.gpus_per_node=2 --json r.json").code == 0);
  const Json sweep = Json::parse(place.text("s.json"))["results"][0];
  const Json run = Json::parse(place.text("r.json"));
  CHECK(sweep["iteration_time_s"] == run["iteration_time_s"]);
  CHECK(sweep["breakdown_s"] == run["breakdown_s"]);
}

TEST_CASE("A point that fails is reported in its row and the others run", "[cli][sweep]") {
  const Workplace place("failing");
  place.write("s.yaml", scenario("vary: {cluster.gpus_per_node: [99, 2]}\n"));
  const auto run = place.run("sweep s.yaml --csv a.csv --json a.json");
  CHECK(run.code == 1);
  CHECK_THAT(run.err, Catch::ContainsSubstring("1 of 2 points failed"));
  const Json json = Json::parse(place.text("a.json"));
  CHECK_THAT(json["results"][0]["error"].get<std::string>(), Catch::ContainsSubstring("99"));
  CHECK(json["results"][1]["world_size"] == 2);
  CHECK_FALSE(json["results"][1].contains("error"));
}

TEST_CASE("A sweep says of how many points knobs of the file's strategy are left out",
          "[cli][sweep]") {
  const Workplace place("left_out");
  place.write("s.yaml", scenario("vary: {strategy.name: [ddp, wfbp, bsp, none]}\n"));
  const auto run = place.run("sweep s.yaml --json a.json");
  CHECK(run.code == 0);
  CHECK_THAT(run.err, Catch::ContainsSubstring(
                          "warning: strategy: 'wfbp' does without what the scenario sets "
                          "of 'ddp': bucket_cap (knobs-left-out; 1 of 4 points)\n"));
  const Json results = Json::parse(place.text("a.json"))["results"];
  CHECK(results[0]["warnings"].empty());
  CHECK(results[2]["warnings"][0]["code"] == "knobs-left-out");
  CHECK(results[3]["warnings"].empty());  // 'none' says that nothing counts
  place.write("r.yaml", scenario());
  CHECK_THAT(place.run("run r.yaml --set strategy.name=bsp").out,
             Catch::ContainsSubstring("of 'ddp': bucket_cap (knobs-left-out)"));
}

TEST_CASE("A sweep file that is wrong for every point ends with 3 and writes nothing",
          "[cli][sweep]") {
  const Workplace place("wrong");
  place.write("s.yaml", scenario(std::string(axes) + "jittre: {iteration: 0 %}\n"));
  const auto run = place.run("sweep s.yaml --csv a.csv");
  CHECK(run.code == 3);
  CHECK_THAT(run.err, Catch::ContainsSubstring("unknown key 'jittre'"));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK_FALSE(place.has("a.csv"));
  place.write("t.yaml", scenario());
  CHECK(place.run("sweep t.yaml").code == 3);
}

TEST_CASE("An interrupted sweep writes what is done", "[cli][sweep]") {
  const Workplace place("interrupted");
  place.write("s.yaml", scenario("vary: {run.iterations: [1, 900002, 900003]}\n"));
  // Sanitized and beside other tests the first point takes seconds; the others take minutes.
  const auto run = place.run("sweep s.yaml -j 2 --csv a.csv --json a.json",
                             "timeout --foreground --preserve-status -s INT 8");
  CHECK(run.code == 130);
  CHECK(run.err == "gradwire: interrupted; 1 of 3 points are done\n");
  const Json results = Json::parse(place.text("a.json"))["results"];
  REQUIRE(results.size() == 3);
  CHECK(results[0].contains("throughput_per_gpu"));
  CHECK_THAT(place.text("a.csv"), Catch::ContainsSubstring(",interrupted\n"));
}

TEST_CASE("An interrupt before anything is done ends with 130 and writes nothing", "[cli][sweep]") {
  const Workplace place("interrupt");
  place.write("s.yaml", scenario("vary: {run.iterations: [900001, 900002, 900003]}\n"));
  place.write("r.yaml", scenario());
  const std::string arguments = GENERATE("sweep s.yaml -j 2 --csv a.csv",
                                         "run r.yaml --set run.iterations=900000 --csv a.csv");
  const auto run = place.run(arguments, "timeout --foreground --preserve-status -s INT 1");
  CHECK(run.code == 130);
  CHECK_FALSE(place.has("a.csv"));
}

}  // namespace
}  // namespace gradwire
