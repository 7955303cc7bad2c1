#include "sim/report/elastic.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

Point phase(int workers, double step) {
  Point point;
  point.result.world_size = workers;
  point.result.batch_per_gpu = 1;
  point.result.single_gpu_iteration_s = step;
  point.result.samples = {step};
  point.result.sample_weight = {1};
  point.result.iteration_s = {step};
  return point;
}

}  // namespace

TEST_CASE("an elastic job takes its phases' steps and its changes", "[report][elastic]") {
  // 10 steps of 0.5 s, 20 of 0.25 s; 0.25 s to agree and 2 s to join: 5 + 2.25 + 5 = 12.25.
  const std::vector<Point> points = {phase(2, 0.5), phase(4, 0.25)};
  const ElasticRun run{.steps = {10, 20},
                       .changes = {{.joined = 2, .left = 0, .agree_s = 0.25, .join_s = 2}}};
  const auto json = elastic_json(points, run);
  CHECK(json == nlohmann::ordered_json::parse(R"({
    "phases": [{"workers": 2, "steps": 10, "step_s": 0.5, "time_s": 5.0},
               {"workers": 4, "steps": 20, "step_s": 0.25, "time_s": 5.0}],
    "changes": [{"joined": 2, "left": 0, "agree_s": 0.25, "join_s": 2.0, "time_s": 2.25}],
    "total_s": 12.25})"));
  CHECK(elastic_table(points, run) ==
        "Elastic      workers       steps  step, or agree            join            time\n"
        "phase 1            2          10      500.000 ms                         5.000 s\n"
        "  change       +2 -0                  250.000 ms         2.000 s         2.250 s\n"
        "phase 2            4          20      250.000 ms                         5.000 s\n"
        "total                                                                   12.250 s\n");
}
