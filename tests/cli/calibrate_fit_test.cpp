#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/calibration/made_up_recording.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using calibration::Trace;
using calibration::test::toy_trace;
using calibration::test::ToyOptions;

/// Period of the toy's step, in which the GPU is never idle: forward 212 us (conv 120, norm 30 and
/// its counter 2, linear 60), loss 9, backward 316, optimizer 10; see toy_step().
constexpr double step_ms = 0.547;

std::string text_of(const calibration::test::RecordBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Trace full_trace() {
  ToyOptions options;
  options.modules = true;
  return toy_trace(8, options);
}

std::string workload(const std::string& gpu) {
  return R"({"schema": "gradwire.workload/1", "model": "toy", "gpu": ")" + gpu +
         R"(", "batch_per_gpu": 8, "dtype": "fp32", "parameters": [
    {"name": "conv.weight", "shape": [6, 3, 3, 3]}, {"name": "bn.weight", "shape": [6]},
    {"name": "bn.bias", "shape": [6]}, {"name": "fc.weight", "shape": [10, 96]},
    {"name": "fc.bias", "shape": [10]}]})";
}

std::string iterations(double milliseconds) {
  nlohmann::json json = {{"schema", "gradwire.iterations/1"}, {"clock", "cuda_event"}};
  for (int i = 0; i < 50; ++i) {
    json["iteration_ns"].push_back(static_cast<std::int64_t>(milliseconds * 1e6));
  }
  return json.dump();
}

void record(const Workplace& place, const std::string& name, double milliseconds) {
  std::filesystem::create_directories(place.path() / "node" / "recordings" / name);
  const std::string folder = "node/recordings/" + name + "/";
  place.write(folder + "workload.json", workload("NVIDIA H200"));
  place.write(folder + "uninstrumented.json", iterations(milliseconds));
  place.write(folder + "full.rank0.1.gwr",
              text_of(calibration::test::recording_of(full_trace(), "full")));
}

}  // namespace

TEST_CASE("a calibrated node's folder becomes profiles that predict the node", "[cli][calibrate]") {
  const Workplace place("fit_node");
  record(place, "toy_fp32_b8", step_ms);
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
  CHECK(row["measured"].get<double>() == Approx(step_ms));
  CHECK(row["predicted"].get<double>() == Approx(step_ms).epsilon(0.001));
}

TEST_CASE("a prediction of the node that is off by more than 5 % is told and fails",
          "[cli][calibrate]") {
  const Workplace place("fit_off");
  record(place, "toy", step_ms);
  REQUIRE(place.run("calibrate fit node -o cluster").code == 0);
  std::string jobs = place.text("cluster/jobs.yaml");
  const std::string measured = "iteration: 0.547000 ms";
  REQUIRE(jobs.find(measured) != std::string::npos);
  // 0.547 / 0.580 - 1 = -5.7 %
  jobs.replace(jobs.find(measured), measured.size(), "iteration: 0.580000 ms");
  place.write("cluster/jobs.yaml", jobs);
  const auto validated = place.run("validate --calibrated cluster");
  CHECK(validated.code == 1);
  CHECK_THAT(validated.err, Catch::ContainsSubstring("jobs: worst is 5.7 %, more than 5.0 %"));
}

TEST_CASE("a recording whose checks fail is refused by name, the others are written",
          "[cli][calibrate]") {
  const Workplace place("fit_refused");
  record(place, "good", step_ms);
  // An iteration cannot be shorter than the kernels that it runs.
  record(place, "short", 0.8 * step_ms);
  const auto fit = place.run("calibrate fit node -o cluster");
  CHECK(fit.code == 1);
  CHECK_THAT(fit.err, Catch::ContainsSubstring("short is refused: ") &&
                          Catch::ContainsSubstring("is shorter than its parts"));
  CHECK(place.has("cluster/good.yaml"));
  CHECK_FALSE(place.has("cluster/short.yaml"));
  CHECK_THAT(place.text("cluster/report.md"), Catch::ContainsSubstring("**short is refused**"));
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

}  // namespace gradwire
