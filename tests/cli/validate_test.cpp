#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

/// One measured table of 8 GPUs.
void write_table(const Workplace& place, const std::string& rows) {
  place.write("collectives.yaml",
              "schema: gradwire.collective_measurements/1\n"
              "tables:\n"
              "  - id: made-up\n"
              "    family: made-up\n"
              "    source: nobody\n"
              "    hardware: 8 GPUs\n"
              "    cluster: {node: dgx1v, nodes: 1}\n"
              "    collective: {library: user, alpha: 10 us, bandwidth: 1 GB/s}\n"
              "    op: all_reduce\n"
              "    ranks: 8\n"
              "    parts: {a: score}\n"
              "    missing: what nobody knows\n"
              "    rows: " +
                  rows + "\n");
}

/// The shipped machines beside that table.
constexpr const char* with_data =
    "mkdir -p data/results/reference && ln -sfn " GRADWIRE_SOURCE_DIR
    "/profiles data/profiles && ln -sfn " GRADWIRE_SOURCE_DIR
    "/topologies data/topologies && "
    "cp collectives.yaml " GRADWIRE_SOURCE_DIR
    "/results/reference/expected_misses.yaml data/results/reference/ && GRADWIRE_DATA=$PWD/data";

TEST_CASE("validate tells error, misses and mechanism; only --strict makes them an exit code",
          "[cli][validate]") {
  const Workplace place("validate_made_up");
  // alpha + size / bandwidth: 16 MiB take 10 us + 16777.216 us. The first row is met within 0.1 %,
  // the second is twice as fast as predicted: +100 %.
  write_table(place, "[[8 MiB, 8.4 ms], [16 MiB, 8.393608 ms]]");
  const auto run = place.run("validate collectives --json v.json --write .", with_data);
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.out.find("+100.0 %") != std::string::npos);
  CHECK(run.out.find("missed: what nobody knows") != std::string::npos);
  CHECK(run.out.find("MISSED") != std::string::npos);
  CHECK(place.has("collectives.md"));
  const Json series = Json::parse(place.text("v.json")).at("series").at(0);
  CHECK(series.at("scored").at("rows") == 2);
  CHECK(series.at("scored").at("missed") == 1);
  CHECK(series.at("rows").at(1).at("error").get<double>() == Approx(1).epsilon(1e-4));
  const auto strict = place.run("validate collectives --strict", with_data);
  CHECK(strict.code == 1);
  CHECK(strict.err.find("collectives: gate '(a) ") != std::string::npos);
}

TEST_CASE("validate names its series, and a wrong table by its place", "[cli][validate]") {
  const Workplace place("validate_wrong");
  const auto unknown = place.run("validate colectives");
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("collectives") != std::string::npos);
  write_table(place, "[[8 MiB, 8400]]");
  const auto wrong = place.run("validate collectives --json v.json", with_data);
  CHECK(wrong.code == 3);
  CHECK(wrong.err.find("collectives.yaml:13:20: ") != std::string::npos);
  CHECK_FALSE(place.has("v.json"));
}

}  // namespace
}  // namespace gradwire
