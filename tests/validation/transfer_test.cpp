#include "sim/validation/transfer.hpp"

#include <map>
#include <string>
#include <vector>

#include "sim/validation/training_file.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::validation {
namespace {

/// A factor on compute is fitted to two GPUs; four and eight are scored.
constexpr const char* document =
    "schema: gradwire.reference.training/1\n"
    "name: made_up\n"
    "source: {file: nobody}\n"
    "unit: samples/s\n"
    "scenario: {schema: gradwire.scenario/1, cluster: {node: dgx1v}}\n"
    "gates: {made_up: {median: 5 %}}\n"
    "models:\n"
    "  resnet50: {single_gpu: 320, set: {profile: {model: resnet50, gpu: v100-sxm2-16gb, "
    "batch_per_gpu: 64, dtype: fp32}}}\n"
    "methods:\n"
    "  bsp: {set: {strategy.name: bsp}}\n"
    "  wfbp: {set: {strategy.name: wfbp}}\n"
    "groups:\n"
    "  - name: one node\n"
    "    calibrate: [{key: compute, from: \"0.1\", to: \"10\"}]\n"
    "    rows:\n"
    "      - {id: a, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 2, measured: 500, "
    "role: calibrate}\n"
    "      - {id: b, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: 900, "
    "role: score}\n"
    "      - {id: c, model: resnet50, method: wfbp, nodes: 1, gpus_per_node: 8, measured: 1700, "
    "role: score}\n";

/// A run without communication.
RunResult alone(const config::Scenario& scenario) {
  RunResult result;
  result.world_size = static_cast<int>(scenario.placement.size());
  result.batch_per_gpu = scenario.profile->batch_per_gpu;
  result.iteration_s = {scenario.profile->iteration.count()};
  return result;
}

std::map<std::string, double> predicted_of(const std::string& id, const std::vector<Row>& rows) {
  std::map<std::string, double> by_known;
  for (const Row& row : rows) {
    if (row.label == id) by_known[row.group] = row.predicted;
  }
  return by_known;
}

TEST_CASE("What is known of a row grows from names to a rate of one GPU to what was fitted",
          "[validation][transfer]") {
  const TrainingFile file = read_training_file(config::parse_yaml(document, "x.yaml"));
  const std::vector<Row> rows = transfer_rows(file, file.groups[0], {}, alone);
  auto b = predicted_of("b", rows);
  REQUIRE(b.size() == 5);
  const double of_names = config::read_scenario(file.scenario, file.groups[0].rows[1].changes)
                              .profile->iteration.count();
  CHECK(b["names alone"] == Approx(4 * 64 / of_names));
  CHECK(b["one GPU"] == Approx(4 * 320));
  // Two GPUs did 500 in place of 640; the search ends within 3 % (training_test.cpp).
  CHECK(b["fitted"] == Approx(4 * 250).epsilon(0.031));
  CHECK(b["linear scaling"] == Approx(4 * 320));
  CHECK(b["smallest run"] == Approx(2 * 500));
  // Nothing smaller was measured of the other method.
  CHECK_FALSE(predicted_of("c", rows).contains("smallest run"));
}

TEST_CASE("A language model's other rows are told with the share of the peak of its smallest",
          "[validation][transfer]") {
  const TrainingFile file = read_training_file(config::parse_yaml(document, "x.yaml"));
  const auto counted = [](const config::Scenario& scenario) {
    RunResult result = alone(scenario);
    result.tokens_per_sample = 128;
    result.model_flops = 1e9 * result.world_size;  // of eight GPUs' model twice that of four
    result.peak_flops = 1e13;
    return result;
  };
  const std::vector<Row> rows = transfer_rows(file, file.groups[0], {}, counted);
  CHECK_FALSE(predicted_of("b", rows).contains("same MFU"));
  // Twice the GPUs, each with twice the operations a sample.
  CHECK(predicted_of("c", rows)["same MFU"] == Approx(900));
  const std::vector<Row> images = transfer_rows(file, file.groups[0], {}, alone);
  CHECK_FALSE(predicted_of("c", images).contains("same MFU"));
}

TEST_CASE("Skill is reported over the best null model, on the rows that it has",
          "[validation][transfer]") {
  const auto row = [](const char* known, const char* id, double predicted) {
    return Row{
        .group = known, .label = id, .role = "score", .measured = 100, .predicted = predicted};
  };
  // Off by 20 and 10 %: the smallest run is the better one, where the fit is off by 5: 1 - 5 / 10.
  const std::string page = transfer_page(std::vector<SeriesReport>{
      {"made_up",
       "",
       {row("names alone", "a", 130), row("fitted", "a", 105), row("linear scaling", "a", 120),
        row("smallest run", "a", 110), row("fitted", "b", 190)},
       {}}});
  CHECK_THAT(page, Catch::ContainsSubstring("| made_up | 2 | 30.0 % | 30.0 % |  |  | "));
  CHECK_THAT(page, Catch::ContainsSubstring("| 20.0 % of 1 | 10.0 % of 1 |  | +0.50 |\n"));
}

TEST_CASE("The committed page of what is known has the lines that the program makes",
          "[validation][transfer]") {
  const Workplace place("validation_transfer");
  const auto run = place.run("validate --transfer lbsgd22 dle --quiet");
  INFO(run.err);
  REQUIRE(run.code == 0);
  const std::string page = read_file(GRADWIRE_SOURCE_DIR "/results/reference/transfer.md");
  for (const std::string series : {"lbsgd22", "dle"}) {
    const std::string begins = "| " + series + " |";
    int lines = 0;
    for (auto at = run.out.find(begins); at != std::string::npos; at = run.out.find(begins, at)) {
      const auto end = run.out.find('\n', at);
      CHECK_THAT(page, Catch::ContainsSubstring(run.out.substr(at, end - at)));
      at = end;
      ++lines;
    }
    CHECK(lines == 2);  // one a table
  }
  const auto none = place.run("validate --transfer collectives");
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::ContainsSubstring("none of the series named is of training jobs"));
}

}  // namespace
}  // namespace gradwire::validation
