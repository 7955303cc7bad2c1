#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/error.hpp"
#include "sim/validation/pages.hpp"
#include "sim/validation/training_file.hpp"
#include "sim/validation/training_fit.hpp"
#include "sim/validation/training_series.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"
#include "tests/skipped.hpp"
#include "tests/topologies/files.hpp"

namespace gradwire::validation {
namespace {

namespace fs = std::filesystem;

/// Two methods of one model on one to four GPUs of a node.
std::string file_text(const std::string& group) {
  return "schema: gradwire.reference.training/1\n"
         "name: made_up\n"
         "source: {file: nobody}\n"
         "unit: samples/s\n"
         "scenario:\n"
         "  schema: gradwire.scenario/1\n"
         "  cluster: {node: dgx1v}\n"
         "gates: {made_up: {median: 5 %}}\n"
         "models:\n"
         "  resnet50: {set: {profile: {model: resnet50, gpu: v100-sxm2-16gb, batch_per_gpu: 64, "
         "dtype: fp32}}}\n"
         "methods:\n"
         "  bsp: {set: {strategy.name: bsp}}\n"
         "  wfbp: {set: {strategy.name: wfbp}, missing: what nobody knows}\n"
         "groups:\n"
         "  - name: one node\n" +
         group;
}

TrainingFile read(const std::string& group) {
  const config::YamlValue document = config::parse_yaml(file_text(group), "x.yaml");
  return read_training_file(document);
}

std::string error_of(const std::string& group) {
  return test::refusal_of([&] { return read(group); });
}

/// A run without communication.
RunResult alone(const config::Scenario& scenario) {
  RunResult result;
  result.world_size = static_cast<int>(scenario.placement.size());
  result.batch_per_gpu = scenario.profile->batch_per_gpu;
  result.single_gpu_iteration_s = scenario.profile->iteration.count();
  result.iteration_s = {scenario.profile->iteration.count()};
  return result;
}

constexpr const char* rows =
    "    rows:\n"
    "      - {id: a, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 1, measured: 320, "
    "role: calibrate}\n"
    "      - {id: b, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: 1000, "
    "role: score}\n"
    "      - {id: c, model: resnet50, method: wfbp, nodes: 1, gpus_per_node: 4, measured: 1200, "
    "stdev: 12, role: score}\n";

TEST_CASE("The rate of one GPU is that of the same method's row where there is one",
          "[validation]") {
  const auto file = read(std::string("    single_gpu: {resnet50: 300}\n") + rows);
  REQUIRE(file.groups.size() == 1);
  // The group's own value goes before the row of one GPU.
  CHECK(file.groups[0].rows[1].single_gpu == 300);
  const auto table = read(rows);
  CHECK(table.groups[0].rows[0].single_gpu == 320);
  CHECK(table.groups[0].rows[1].single_gpu == 320);
  CHECK(table.groups[0].rows[2].single_gpu == 0);  // wfbp has no row of one GPU
}

TEST_CASE("Compute is set so that one GPU alone does what was measured", "[validation]") {
  const auto file = read(rows);
  const auto predicted = predict_group(file, file.groups[0], {}, alone);
  REQUIRE(predicted.size() == 3);
  // Without communication four GPUs do four times what one does: 4 * 320 against 1000 is +28 %.
  CHECK(predicted[0].predicted == Approx(320));
  CHECK(predicted[1].predicted == Approx(1280));
  CHECK(predicted[1].error() == Approx(0.28));
  CHECK(predicted[1].missed());
  CHECK(predicted[2].missing == "what nobody knows");
  CHECK(predicted[2].spread == Approx(0.01));
  CHECK(predicted[1].compared == predicted[2].compared);
  CHECK(predicted[0].compared != predicted[1].compared);
}

TEST_CASE("A file in milliseconds holds the median iteration, and takes no rate from its rows",
          "[validation]") {
  std::string text = file_text(rows);
  text.replace(text.find("samples/s"), 9, "ms");
  const auto file = read_training_file(config::parse_yaml(text, "x.yaml"));
  CHECK(file.groups[0].rows[1].single_gpu == 0);
  RunResult result;
  result.samples = {0.3, 0.1, 0.2};
  result.sample_weight = {1, 1, 1};
  CHECK(in_unit(result, "ms") == Approx(200));
}

TEST_CASE("A rate counts samples beyond 32 bits", "[validation]") {
  RunResult result;
  result.world_size = 1;
  result.batch_per_gpu = 1'000'000;
  result.micro_batches = 2148;
  result.iteration_s = {0.1};
  // 2.148e9 samples in 0.1 s
  CHECK(in_unit(result, "samples/s/GPU") == Approx(2.148e10));
}

TEST_CASE("A row under a gate for the worst one misses beyond it", "[validation]") {
  CHECK(TrainingGate{"g", 0.02, 0, 0.06}.row_limit() == 0.06);
  CHECK(TrainingGate{"g", 0.02, 0.04, 0.06}.row_limit() == 0.04);
  CHECK(TrainingGate{"g", 0.02, 0, 0}.row_limit() == 0.04);
}

TEST_CASE("A constant is fitted to the calibration rows alone", "[validation]") {
  // Four GPUs measured at 1000 as a calibration row: 64 * 4 / 1000 s is the iteration to be found.
  // The scored row, which no factor could meet at the same time, does not pull.
  const auto file = read(
      "    calibrate: [{key: compute, from: \"0.1\", to: \"10\"}]\n"
      "    rows:\n"
      "      - {id: b, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: "
      "1000, role: calibrate}\n"
      "      - {id: c, model: resnet50, method: wfbp, nodes: 1, gpus_per_node: 4, measured: "
      "5000, role: score}\n");
  const auto values = fit_group(file, file.groups[0], alone);
  REQUIRE(values.size() == 1);
  const auto predicted = predict_group(file, file.groups[0], values, alone);
  // The search ends within 0.618^9 / 2 of the span of logarithms, ln 100: 3 %.
  CHECK(predicted[0].predicted == Approx(1000).epsilon(0.031));
  CHECK(predicted[1].predicted == Approx(predicted[0].predicted));
}

TEST_CASE("A constant of some methods leaves the rows of others as they are", "[validation]") {
  const auto file = read(
      "    single_gpu: {resnet50: 320}\n"
      "    calibrate: [{key: compute, methods: [bsp], from: \"0.1\", to: \"10\"}]\n"
      "    rows:\n"
      "      - {id: b, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: "
      "1000, role: calibrate}\n"
      "      - {id: c, model: resnet50, method: wfbp, nodes: 1, gpus_per_node: 4, measured: "
      "5000, role: calibrate}\n");
  const auto predicted =
      predict_group(file, file.groups[0], fit_group(file, file.groups[0], alone), alone);
  CHECK(predicted[0].predicted == Approx(1000).epsilon(0.031));
  CHECK(predicted[1].predicted == Approx(4 * 320));
  CHECK(predicted[1].how.empty());
}

TEST_CASE("A constant of the file is fitted to the calibration rows of all groups",
          "[validation]") {
  // Two groups, in which four GPUs do 1000 and 4000: one factor can only meet their geometric mean.
  const auto file = read(
      "    rows:\n"
      "      - {id: b, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: "
      "1000, role: calibrate}\n"
      "  - name: another\n"
      "    rows:\n"
      "      - {id: c, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: "
      "4000, role: calibrate}\n"
      "calibrate: [{key: compute, from: \"0.1\", to: \"10\"}]\n");
  REQUIRE(file.groups.size() == 2);
  for (const TrainingGroup& group : file.groups) {
    const auto predicted = predict_group(file, group, fit_group(file, group, alone), alone);
    CHECK(predicted[0].predicted == Approx(2000).epsilon(0.031));
  }
}

TEST_CASE("A row whose strategy is unknown fails with its message, and no other does",
          "[validation]") {
  const auto file = read(
      "    rows:\n"
      "      - {id: a, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: 9, "
      "role: score, set: {strategy.name: bspp}}\n"
      "      - {id: b, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: 9, "
      "role: score}\n");
  const auto predicted = predict_group(file, file.groups[0], {}, alone);
  CHECK(predicted[0].failure.find("'name' is 'bspp'") != std::string::npos);
  CHECK(predicted[0].failure.find("x.yaml:17:") == 0);
  CHECK(predicted[0].missed());
  CHECK(predicted[1].failure.empty());
}

TEST_CASE("A file of measurements is refused with the place of what is wrong", "[validation]") {
  CHECK(error_of(rows) == "accepted");
  CHECK(error_of("    rows: []\n") == "x.yaml:16:11: there is no row; expected at least one");
  CHECK(error_of("    rows:\n      - {id: a, model: resnet51, method: bsp, nodes: 1, "
                 "gpus_per_node: 1, measured: 1, role: score}\n") ==
        "x.yaml:17:24: 'model' is 'resnet51'; expected resnet50; did you mean 'resnet50'?");
  CHECK(error_of("    calibrate: [{key: compute, from: \"2\", to: \"1\"}]\n" + std::string(rows)) ==
        "x.yaml:16:47: 'to' is not above 'from' in the same unit; expected such a number");
  CHECK(error_of(std::string(rows) +
                 "      - {id: a, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 1, "
                 "measured: 1, role: score}\n") ==
        "x.yaml:20:14: 'a' stands twice; expected each row once");
  CHECK(error_of("    rows:\n      - {id: a, model: resnet50, method: bsp, nodes: 1, "
                 "gpus_per_node: 1, measured: 1, roles: score, role: score}\n")
            .find("unknown key 'roles'") != std::string::npos);
}

TEST_CASE("All series together: ranks are counted over every pair that differs by 5 %",
          "[validation]") {
  const auto row = [](double measured, double predicted, const char* compared) {
    Row result;
    result.unit = "samples/s";
    result.measured = measured;
    result.predicted = predicted;
    result.compared = compared;
    return result;
  };
  // Of the first, 100 against 104 is within 5 %; 100 and 104 against 120 are two pairs, of which
  // 104 < 120 is predicted the other way round. The second series has one pair, predicted right.
  const std::vector<SeriesReport> reports = {
      {"a", "", {row(100, 90, "x"), row(104, 130, "x"), row(120, 125, "x")}, {}},
      {"b", "", {row(10, 10, "y"), row(20, 30, "y"), row(40, 5, "z")}, {}}};
  const SeriesReport total = training_total(reports);
  REQUIRE(total.gates.size() == 1);
  CHECK(total.gates[0].figure == Approx(2.0 / 3));
  CHECK(total.gates[0].note == "2 of 3 pairs");
  CHECK_FALSE(total.gates[0].met());
  CHECK_FALSE(training_total({}).gates[0].known);
}

TEST_CASE("Rows of a file without gates are scored, miss nothing, and are reported group by group",
          "[validation]") {
  std::string text = file_text(rows);
  text.erase(text.find("gates:"), text.find("models:") - text.find("gates:"));
  const auto file = read_training_file(config::parse_yaml(text, "x.yaml"));
  CHECK(file.gates.empty());
  const SeriesReport report{
      "made_up", "nothing", predict_group(file, file.groups[0], {}, alone), {}};
  // Four GPUs do 4 * 320 by bsp, and by wfbp, whose rate of one GPU nobody gave, what is counted.
  const double errors[] = {report.rows[1].error(), report.rows[2].error()};
  CHECK(errors[0] == Approx(0.28));
  CHECK_FALSE(report.rows[1].missed());
  const std::string printed = validation_text(report);
  const std::string bias =
      fmt::format("signed mean {:>+6.1f} %", 100 * (errors[0] + errors[1]) / 2);
  CHECK(printed.find("one node     2 rows: median ") != std::string::npos);
  CHECK(printed.find(bias) != std::string::npos);
}

TEST_CASE("A section tells source, misses with their mechanism, and every row", "[validation]") {
  const auto file = read(rows);
  const SeriesReport report{
      "made_up", "nothing", predict_group(file, file.groups[0], {}, alone), {}};
  const std::string text = training_section(file, report);
  CHECK(text.find("- file: nobody\n") != std::string::npos);
  CHECK(text.find("| a bsp, resnet50 on 1x1 | 320 | 320 | +0.0 % | calibrate |  |") !=
        std::string::npos);
  CHECK(text.find("| 1000 | 1280 | +28.0 % | score | misses |") != std::string::npos);
  CHECK(text.find("- 1 rows: no mechanism is suspected yet\n") != std::string::npos);
}

std::vector<fs::path> training_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(test::source_dir() / "results" / "reference")) {
    if (entry.path().extension() != ".yaml") continue;
    if (test::read_text(entry.path()).find("gradwire.reference.training/1") != std::string::npos) {
      files.push_back(entry.path());
    }
  }
  return files;
}

TEST_CASE("Every file of training measurements is a series of its name", "[validation]") {
  std::set<std::string> series;
  for (const SeriesEntry& entry : series_catalogue()) {
    const bool blind = entry.name.starts_with("blind");  // blind.md is written by hand
    if (entry.page == training_page || entry.page == lab_page || entry.page == llm_page || blind) {
      series.emplace(entry.name);
    }
  }
  std::set<std::string> files;
  for (const fs::path& file : training_files()) {
    INFO(file);
    const auto measured = read_training_file(config::load_yaml(file.string()));
    CHECK(measured.name == file.stem().string());
    files.insert(measured.name);
  }
  CHECK(files == series);
}

TEST_CASE(
    "Every shared row of training stands in a file as it was measured, or the file says why not",
    "[validation][shared]") {
  const fs::path shared = test::shared("data/measurements/training.yaml");
  if (test::skipped_without(shared)) return;
  std::map<std::string, TrainingRow> measured;
  std::set<std::string> skipped;
  for (const fs::path& file : training_files()) {
    const auto read = read_training_file(config::load_yaml(file.string()));
    for (const auto& group : read.groups) {
      for (const auto& row : group.rows) CHECK(measured.emplace(row.id, row).second);
    }
    for (const auto& entry : read.skipped) CHECK(skipped.insert(entry.first).second);
  }
  const config::YamlValue list = config::load_yaml(shared.string());
  CHECK(list.items.size() >= 688);
  for (const config::YamlValue& entry : list.items) {
    const std::string id = entry.find("id")->text;
    INFO(id);
    if (id.starts_with("ddpbench")) continue;  // results/reference/ddpbench.yaml
    const auto row = measured.find(id);
    CHECK((row != measured.end()) != skipped.contains(id));
    if (row == measured.end()) continue;
    CHECK(row->second.measured == Approx(std::stod(entry.find("value")->text)).epsilon(1e-9));
    CHECK(std::to_string(row->second.nodes) == entry.find("nodes")->text);
    CHECK(std::to_string(row->second.gpus_per_node) == entry.find("gpus_per_node")->text);
  }
}

}  // namespace
}  // namespace gradwire::validation
