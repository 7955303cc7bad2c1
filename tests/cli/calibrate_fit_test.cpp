#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/calibration/made_up_node.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using calibration::test::toy_step_ms;
using calibration::test::write_made_up_node;

void record(const Workplace& place, const std::string& name, double milliseconds) {
  calibration::test::write_toy_recording(place.path() / "node" / "recordings" / name, milliseconds);
}

}  // namespace

TEST_CASE("a calibrated node's folder becomes profiles that predict the node", "[cli][calibrate]") {
  const Workplace place("fit_node");
  record(place, "toy_fp32_b8", toy_step_ms);
  const auto fit = place.run("calibrate fit node -o cluster");
  INFO(fit.err);
  REQUIRE(fit.code == 0);
  CHECK_THAT(fit.out, Catch::ContainsSubstring("toy_fp32_b8       0.547 ms an iteration"));
  const std::string profile = place.text("cluster/toy_fp32_b8.yaml");
  CHECK_THAT(profile, Catch::ContainsSubstring("gpu: h200-sxm5-141gb"));
  CHECK_THAT(profile, Catch::ContainsSubstring("kind: recorded"));
  CHECK_THAT(place.text("cluster/report.md"), Catch::ContainsSubstring("| toy_fp32_b8 | 1 |"));
  CHECK(place.run("check cluster/toy_fp32_b8.yaml").code == 0);

  const auto validated = place.run("validate --calibrated cluster --json out.json");
  INFO(validated.out << validated.err);
  REQUIRE(validated.code == 0);
  const auto json = nlohmann::json::parse(place.text("out.json"));
  const auto& row = json["series"][0]["rows"][0];
  CHECK(row["measured"].get<double>() == Approx(toy_step_ms));
  CHECK(row["predicted"].get<double>() == Approx(toy_step_ms).epsilon(0.001));
}

TEST_CASE("a prediction of the node that is off by more than 5 % is reported and fails",
          "[cli][calibrate]") {
  const Workplace place("fit_off");
  record(place, "toy", toy_step_ms);
  REQUIRE(place.run("calibrate fit node -o cluster").code == 0);
  std::string jobs = place.text("cluster/jobs.yaml");
  const std::string measured = "iteration: 0.547000 ms";
  REQUIRE(jobs.find(measured) != std::string::npos);
  CHECK(place.run("check cluster/jobs.yaml").code == 0);
  place.write("cluster/bad.yaml", jobs + "  - {profile: x.yaml, gpus: 0}\n");
  CHECK(place.run("check cluster/bad.yaml").code == 3);
  // 0.547 / 0.580 - 1 = -5.7 %
  jobs.replace(jobs.find(measured), measured.size(), "iteration: 0.580000 ms");
  place.write("cluster/jobs.yaml", jobs);
  const auto validated = place.run("validate --calibrated cluster");
  CHECK(validated.code == 1);
  CHECK_THAT(validated.err, Catch::ContainsSubstring("jobs: worst is 5.7 %, more than 5.0 %"));
}

TEST_CASE("ranks 0 of two machines in one folder are refused, of one machine they are a launcher's",
          "[cli][calibrate]") {
  namespace made = calibration::test;
  const Workplace place("fit_two_hosts");
  record(place, "toy", toy_step_ms);
  const auto add = [&](const std::string& host) {
    made::ToyOptions options;
    options.modules = true;
    const auto bytes = made::recording_of(made::toy_trace(2, options), "full", 1, host);
    made::write_text(place.path() / "node/recordings/toy/full.rank0.other.2.gwr",
                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  add("made-up");
  CHECK(place.run("calibrate fit node -o cluster").code == 0);
  add("second");
  const auto fit = place.run("calibrate fit node -o second");
  CHECK(fit.code != 0);
  CHECK_THAT(fit.err, Catch::ContainsSubstring("is of rank 0 on host 'second', and ") &&
                          Catch::ContainsSubstring("of rank 0 on host 'made-up'; expected one run "
                                                   "a folder"));
}

TEST_CASE("a recording whose checks fail is refused by name, the others are written",
          "[cli][calibrate]") {
  const Workplace place("fit_refused");
  record(place, "good", toy_step_ms);
  // An iteration cannot be shorter than the kernels that it runs.
  record(place, "short", 0.8 * toy_step_ms);
  const auto fit = place.run("calibrate fit node -o cluster");
  CHECK(fit.code == 1);
  CHECK_THAT(fit.err, Catch::ContainsSubstring("short is refused: ") &&
                          Catch::ContainsSubstring("is shorter than its parts"));
  CHECK(place.has("cluster/good.yaml"));
  CHECK_FALSE(place.has("cluster/short.yaml"));
  CHECK_THAT(place.text("cluster/report.md"), Catch::ContainsSubstring("**short is refused**"));
}

TEST_CASE("where no calibrated node is, its prediction says what it needs", "[cli][calibrate]") {
  const Workplace place("fit_nowhere");
  const auto validated = place.run("validate --calibrated profiles/mycluster");
  CHECK(validated.code == 2);
  CHECK_THAT(validated.err, Catch::ContainsSubstring("'profiles/mycluster' is no folder; expected "
                                                     "what 'gradwire calibrate fit' wrote"));
}

TEST_CASE("a folder without measurements is refused, and nothing is written", "[cli][calibrate]") {
  const Workplace place("fit_nothing");
  std::filesystem::create_directory(place.path() / "node");
  const auto fit = place.run("calibrate fit node -o cluster");
  CHECK(fit.code == 3);
  CHECK_THAT(fit.err, Catch::ContainsSubstring("nothing of a calibrated node is there"));
  CHECK_FALSE(place.has("cluster"));
  CHECK(place.run("calibrate fit -o cluster").code == 2);
}

TEST_CASE("a fit tells how its files come into a scenario, and they do", "[cli][calibrate]") {
  const Workplace place("fit_whole");
  write_made_up_node(place.path() / "node");
  const auto fit = place.run("calibrate fit node -o cluster");
  INFO(fit.out << fit.err);
  REQUIRE(fit.code == 0);
  const std::string steps =
      "in a scenario:\n"
      "  profile: cluster/toy_fp32_b8.yaml\n"
      "  cluster: {node: cluster/node.yaml}\n"
      "  collective: {table: cluster/collectives.yaml}\n"
      "  compressor_costs: cluster/compressors.yaml\n";
  CHECK_THAT(fit.out, Catch::ContainsSubstring("  gradwire validate --calibrated cluster\n") &&
                          Catch::EndsWith(steps));
  CHECK_THAT(place.text("cluster/toy_fp32_b8.yaml"), Catch::ContainsSubstring("image_size 4."));
  const std::string keys =
      std::regex_replace(steps.substr(steps.find('\n')), std::regex("\n  "), "\n");
  const std::string report = place.text("cluster/report.md");
  for (const std::string picture : {"toy_fp32_b8.svg", "all_reduce.svg"}) {
    CHECK_THAT(report, Catch::ContainsSubstring("](" + picture + ")"));
    CHECK_THAT(place.text("cluster/" + picture), Catch::StartsWith("<svg"));
  }
  CHECK_THAT(place.text("cluster/all_reduce.svg"), Catch::ContainsSubstring("2 ranks, measured") &&
                                                       Catch::ContainsSubstring("2 ranks, fitted"));
  CHECK_THAT(report,
             Catch::ContainsSubstring("| topk | density 0.1 % | 65536 | 31.3 us | 10.1 us"));
  place.write("s.yaml", "schema: gradwire.scenario/1" + keys +
                            "strategy: {name: wfbp, compression: {name: topk}}\n"
                            "jitter: {iteration: 0 %, layer: 0 %}\n");
  const auto encoding = [&] {
    const auto run = place.run("run s.yaml --json out.json");
    INFO(run.err);
    REQUIRE(run.code == 0);
    return nlohmann::json::parse(place.text("out.json"))["breakdown_s"]["encode_decode"]
        .get<double>();
  };
  const double measured = encoding();
  // Each of 5 tensors is encoded once, in 30 us + 65536 / 50e3 us, the first row's time.
  CHECK(measured >= 5 * 31.3e-6);
  std::string costs = place.text("cluster/compressors.yaml");
  for (std::size_t at = 0; (at = costs.find("encode: 31.311 us", at)) != std::string::npos; ++at) {
    costs.replace(at, 17, "encode: 62.622 us");
  }
  place.write("cluster/compressors.yaml", costs);
  CHECK(encoding() - measured == Approx(5 * 31.311e-6).epsilon(0.01));
}

TEST_CASE("compressors are predicted from every second size, and the shout names them",
          "[cli][calibrate]") {
  const Workplace place("fit_compressors");
  write_made_up_node(place.path() / "node");
  REQUIRE(place.run("calibrate fit node -o cluster").code == 0);
  const auto good = place.run("validate --calibrated cluster --json out.json");
  INFO(good.out << good.err);
  REQUIRE(good.code == 0);
  const auto json = nlohmann::json::parse(place.text("out.json"));
  int rows = 0;
  for (const auto& row : json["series"][0]["rows"]) {
    if (row["gate"] != "compressors" || row["label"] != "encode 2 MiB") continue;
    ++rows;
    // 2^19 elements take 30 + 10.486 us; 2^18 take 35.243, 2^20 take 50.972; their geometric mean:
    // sqrt(35.243 * 50.972).
    CHECK(row["measured"].get<double>() == Approx(40.486).epsilon(1e-4));
    CHECK(row["predicted"].get<double>() == Approx(42.384).epsilon(1e-4));
  }
  CHECK(rows == 1);
  // Without every second size of the small ones nothing of the curve is left.
  std::string costs = place.text("cluster/compressors.yaml");
  const std::string head = costs.substr(0, costs.find("rows:"));
  place.write("cluster/compressors.yaml", head +
                                              "rows:\n      - {elements: 524288, encode: 1 us}\n"
                                              "      - {elements: 1048576, encode: 9 us}\n"
                                              "      - {elements: 2097152, encode: 4 us}\n");
  const auto bad = place.run("validate --calibrated cluster");
  CHECK(bad.code == 1);
  // sqrt(1 * 4) / 9 - 1 = -77.8 %
  CHECK_THAT(bad.err, Catch::ContainsSubstring("compressors: median is 77.8 %"));
}

}  // namespace gradwire
