#include "sim/validation/one_run.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "sim/validation/training_file.hpp"
#include "tests/catch.hpp"

namespace gradwire::validation {
namespace {

constexpr const char* head =
    "source: {file: nobody}\n"
    "unit: samples/s\n"
    "scenario: {schema: gradwire.scenario/1, cluster: {node: dgx1v, fabric: {kind: single_switch, "
    "link: eth_10g}}}\n"
    "models:\n"
    "  resnet50: {single_gpu: 1, set: {profile: {model: resnet50, gpu: v100-sxm2-16gb, "
    "batch_per_gpu: 64, dtype: fp32}}}\n"
    "  vgg16: {set: {profile: {model: vgg16, gpu: v100-sxm2-16gb, batch_per_gpu: 64, dtype: "
    "fp32}}}\n"
    "methods:\n"
    "  bsp: {set: {strategy.name: bsp}}\n"
    "groups:\n";

/// Of two networks, the second of twice the first's rate.
constexpr const char* first_file =
    "schema: gradwire.reference.training/1\n"
    "name: first\n"
    "{}"
    "  - name: 10 GbE\n"
    "    rows:\n"
    "      - {{id: a, model: resnet50, method: bsp, nodes: 2, gpus_per_node: 1, measured: 500, "
    "role: score}}\n"
    "      - {{id: b, model: resnet50, method: bsp, nodes: 2, gpus_per_node: 8, measured: 1, "
    "role: score}}\n"
    "      - {{id: c, model: vgg16, method: bsp, nodes: 2, gpus_per_node: 1, measured: 1, "
    "role: score}}\n"
    "  - name: 25 GbE\n"
    "    set: {{cluster.fabric.link: eth_25g}}\n"
    "    rows:\n"
    "      - {{id: d, model: resnet50, method: bsp, nodes: 4, gpus_per_node: 1, measured: 1, "
    "role: score}}\n";

constexpr const char* second_file =
    "schema: gradwire.reference.training/1\n"
    "name: second\n"
    "{}"
    "  - name: alone\n"
    "    rows:\n"
    "      - {{id: e, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 4, measured: 1, "
    "role: score}}\n"
    "      - {{id: f, model: resnet50, method: bsp, nodes: 1, gpus_per_node: 2, measured: 400, "
    "role: score, set: {{profile.iteration_time: 7 s, profile.iteration_micro_batches: 5}}}}\n";

TrainingFile made_up(const char* text) {
  return read_training_file(config::parse_yaml(fmt::format(fmt::runtime(text), head), "x.yaml"));
}

std::vector<TrainingFile> both_files() {
  return {made_up(first_file), made_up(second_file)};
}

/// Nothing is overlapped: compute, and `per_gpu` more for every GPU.
Predict exposed(double per_gpu) {
  return [per_gpu](const config::Scenario& scenario) {
    RunResult result;
    result.world_size = static_cast<int>(scenario.placement.size());
    result.batch_per_gpu = scenario.profile->batch_per_gpu;
    result.iteration_s = {scenario.profile->iteration.count() + per_gpu * result.world_size};
    return result;
  };
}

/// What one run tells of all rows of the first file.
std::map<std::string, Row> told(const std::vector<TrainingFile>& files, const Predict& predict) {
  const std::vector<MeasuredRun> runs = measured_runs(files);
  std::map<std::string, Row> rows;
  for (const TrainingGroup& group : files[0].groups) {
    for (const Row& row : one_run_rows(files[0], group, runs, predict)) {
      rows[row.label + ", " + row.group] = row;
    }
  }
  return rows;
}

double by_name(const TrainingFile& file, const TrainingRow& row) {
  return config::read_scenario(file.scenario, row.changes).profile->iteration.count();
}

/// Of the factor's tolerance.
Approx about(double value) {
  return Approx(value).epsilon(0.001);
}

TEST_CASE("One run's factor on compute is what its time leaves beside communication",
          "[validation][transfer]") {
  const auto files = both_files();
  auto rows = told(files, exposed(0.02));
  // Two GPUs took 2 * 64 / 500 s, of which 0.04 s are no compute.
  const double compute = 2 * 64 / 500.0 - 0.04;
  CHECK(rows["b, more GPUs"].predicted == about(16 * 64 / (compute + 16 * 0.02)));
  CHECK_FALSE(rows.contains("a, more GPUs"));
  const auto& first = files[0].groups[0].rows;
  const double factor = compute / by_name(files[0], first[0]);
  CHECK(rows["c, other models"].predicted ==
        about(2 * 64 / (factor * by_name(files[0], first[2]) + 2 * 0.02)));
  CHECK_FALSE(rows.contains("b, other models"));
}

TEST_CASE("A job over another network is told by its smallest run over the first that is named",
          "[validation][transfer]") {
  auto rows = told(both_files(), exposed(0.02));
  const double compute = 2 * 64 / 500.0 - 0.04;
  CHECK(rows["d, other network"].predicted == about(4 * 64 / (compute + 4 * 0.02)));
  CHECK(rows["d, time over the other network"].predicted == Approx(2 * 500));
  CHECK_FALSE(rows.contains("b, other network"));
}

TEST_CASE("Another series lends its run on the fewest GPUs, whose own one GPU is not looked at",
          "[validation][transfer]") {
  const auto files = both_files();
  auto rows = told(files, exposed(0.02));
  CHECK(rows["a, other series"].how == "f");
  // Two GPUs took 2 * 64 / 400 s; its job is the same.
  CHECK(rows["a, other series"].predicted == about(400));
  const TrainingRow& lender = files[1].groups[0].rows[1];
  CHECK(knows_one_gpu(lender));
  CHECK_FALSE(knows_one_gpu(by_names_alone(lender)));
}

TEST_CASE("A run that waits longer than it was measured has no factor", "[validation][transfer]") {
  auto rows = told(both_files(), exposed(0.2));  // 0.4 s of two GPUs' 0.256
  CHECK(rows["b, more GPUs"].failure == "no time of compute meets a");
}

TEST_CASE("What one run tells stands beside the null model on the same rows, and who has none",
          "[validation][transfer]") {
  const auto row = [](const char* known, const char* id, double predicted, const char* failure) {
    return Row{.group = known,
               .label = id,
               .role = "score",
               .measured = 100,
               .predicted = predicted,
               .failure = failure};
  };
  const std::string section = one_run_section(std::vector<SeriesReport>{
      {"made_up",
       "",
       {row("more GPUs", "a", 105, ""), row("smallest run", "a", 120, ""),
        row("more GPUs", "b", 0, "no time of compute meets c"), row("smallest run", "b", 900, "")},
       {}}});
  // 1 - 5 / 20
  CHECK_THAT(section, Catch::ContainsSubstring(
                          "| made_up | 5.0, 5.0 % of 1 | 20.0, 20.0 % | +0.75 | | | |"));
  CHECK_THAT(section, Catch::ContainsSubstring("of 1 more of them (made_up 1)"));
}

}  // namespace
}  // namespace gradwire::validation
