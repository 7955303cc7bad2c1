#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

TEST_CASE("The reference pages are what the catalogues say now", "[cli][list][docs]") {
  const Workplace place("list_pages");
  const auto check = [&](const std::string& list, const std::string& page) {
    INFO("to remake it: ninja approve_list_pages");
    const auto run = place.run("list " + list + " --markdown");
    CHECK(run.code == 0);
    const bool is_page = run.out == read_file(GRADWIRE_SOURCE_DIR "/docs/" + page);
    CHECK(is_page);  // not both pages in full
  };
  check("collectives", "collectives.md");
  check("strategies", "strategies.md");
  check("topologies", "networks.md");
}

TEST_CASE("Every algorithm of the page tells steps, bytes, ranges and source", "[cli][list]") {
  const Workplace place("list_algorithms");
  const auto run = place.run("list collectives --json");
  REQUIRE(run.code == 0);
  const std::string page = place.run("list collectives --markdown").out;
  int algorithms = 0;
  for (const Json& entry : Json::parse(run.out)) {
    const auto name = entry.at("name").get<std::string>();
    INFO(name);
    CHECK(page.find("`" + name + "`") != std::string::npos);
    if (entry.at("kind") != "algorithm") continue;
    ++algorithms;
    for (const char* key : {"summary", "ranges", "source"}) {
      CHECK_FALSE(entry.at(key).get<std::string>().empty());
      CHECK(page.find(entry.at(key).get<std::string>()) != std::string::npos);
    }
    CHECK_FALSE(entry.at("operations").empty());
    for (const Json& does : entry.at("operations")) {
      CHECK_FALSE(does.at("steps").get<std::string>().empty());
      CHECK_FALSE(does.at("bytes_per_rank").get<std::string>().empty());
    }
  }
  CHECK(algorithms >= 1);
}

TEST_CASE("Nodes, fabrics and links are the parts of the topologies", "[cli][list]") {
  const Workplace place("list_parts");
  const auto list = [&](const std::string& what) {
    return Json::parse(place.run("list " + what + " --json").out);
  };
  const std::map<std::string, std::string> parts = {
      {"node", "nodes"}, {"fabric", "fabrics"}, {"link", "links"}};
  std::map<std::string, Json> of_kind;
  for (const Json& entry : list("topologies")) {
    of_kind[entry.at("kind").get<std::string>()].push_back(entry);
  }
  for (const auto& [kind, name] : parts) CHECK(list(name) == of_kind.at(kind));
}

TEST_CASE("A list that is no page is refused as one", "[cli][list]") {
  const Workplace place("list_no_page");
  const auto run = place.run("list gpus --markdown");
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find("there is a page of collectives, of strategies and of topologies") !=
        std::string::npos);
  CHECK(place.run("list collectives --markdown --json").code == 2);
}

TEST_CASE("Strategies are listed by a line each, and one of them with its knobs", "[cli][list]") {
  const Workplace place("list_one");
  const auto all = place.run("list strategies");
  CHECK(all.code == 0);
  CHECK_THAT(all.out, Catch::ContainsSubstring("\nddp "));
  CHECK(all.out.find("bucket_cap") == std::string::npos);
  const auto one = place.run("list strategies ddp");
  CHECK(one.code == 0);
  CHECK_THAT(one.out, Catch::ContainsSubstring("bucket_cap: 25 MiB"));
  CHECK(one.out.find("wfbp") == std::string::npos);
  CHECK(Json::parse(place.run("list strategies ddp --json").out).size() == 1);
  const auto none = place.run("list strategies dpd");
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::ContainsSubstring("did you mean 'ddp'?"));
}

TEST_CASE("The shipped presets and the originals' variables tell their sources", "[cli][list]") {
  const Workplace place("list_presets");
  for (const char* what : {"presets", "variables"}) {
    const auto run = place.run(std::string("list ") + what + " --json");
    REQUIRE(run.code == 0);
    const Json list = Json::parse(run.out);
    CHECK(list.size() >= 20);
    for (const Json& entry : list) CHECK_FALSE(entry.at("source").get<std::string>().empty());
  }
  CHECK_THAT(place.run("list presets ddl_benchmarks/BSP-PS").out,
             Catch::ContainsSubstring("536870912"));
}

TEST_CASE("Frameworks tell what the host's thread takes, and where that is from", "[cli][list]") {
  const Workplace place("list_frameworks");
  const Json list = Json::parse(place.run("list frameworks --json").out);
  CHECK(list.size() == 6);
  for (const Json& entry : list) {
    CHECK_FALSE(entry.at("source").get<std::string>().empty());
    CHECK(entry.at("operators").back().at("work") == "other");
  }
  CHECK(place.run("list frameworks pytorch-eager").code == 0);
}

}  // namespace
}  // namespace gradwire
