#include "sim/report/efficiency_over.hpp"

#include "sim/report/csv.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_table.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

/// A row of a sweep over machines and buckets, of a job that one GPU cannot hold: 32 samples on
/// each GPU in so many seconds.
ResultRow row(const std::string& nodes, int ranks, const std::string& bucket, double seconds) {
  Point point = make_point("", ranks, {{seconds, ranks}});
  point.result.iteration_s = {seconds};
  point.result.one_gpu_fits = false;
  return {{{"cluster.nodes", nodes}, {"strategy.bucket_cap", bucket}}, result_json(point), ""};
}

TEST_CASE("Efficiency is over the fewest GPUs where one could not hold the job", "[report]") {
  // 8 ranks in 0.1 s and 16 in 0.125 s: a GPU of 16 does 0.1 / 0.125 of one of 8.
  std::vector<Point> points = {make_point("many", 16, {{0.125, 16}}),
                               make_point("few", 8, {{0.1, 8}})};
  points[0].result.iteration_s = {0.125};
  points[1].result.iteration_s = {0.1};
  CHECK_FALSE(efficiency_over_fewest(points[0], points));
  for (Point& point : points) point.result.one_gpu_fits = false;
  const auto over = efficiency_over_fewest(points[0], points);
  REQUIRE(over);
  CHECK(over->world_size == 8);
  CHECK(over->efficiency == Approx(0.8));
  const auto json = results_json(points);
  CHECK(json["results"][0]["efficiency_over"]["world_size"] == 8);
  CHECK(json["results"][1]["efficiency_over"]["efficiency"] == 1);
  // A job that is run though it does not fit (--ignore-memory) is no base.
  points[1].result.warnings = {{"memory", "does not fit"}};
  CHECK(efficiency_over_fewest(points[0], points)->world_size == 16);
  points[0].result.warnings = points[1].result.warnings;
  CHECK_FALSE(efficiency_over_fewest(points[0], points));
  points[0].result.warnings = points[1].result.warnings = {};
  // Of another strategy none is a base.
  points[1].strategy = "other";
  CHECK(efficiency_over_fewest(points[0], points)->efficiency == 1);
}

TEST_CASE("A sweep's efficiency is over the fewest GPUs that agree in all else that varies",
          "[report]") {
  const std::vector<ResultRow> list = {
      row("4", 32, "1 MiB", 0.125),
      row("1", 8, "1 MiB", 0.1),
      row("4", 32, "25 MiB", 0.1),
      row("2", 16, "25 MiB", 0.08),
      {{{"cluster.nodes", "8"}, {"strategy.bucket_cap", "1 MiB"}}, nullptr, "does not fit"}};
  const ResultRows rows = with_efficiency_over(list);
  REQUIRE(rows.size() == 5);
  // 0.1 / 0.125 of 8 GPUs; with other buckets 0.08 / 0.1 of 16
  CHECK(rows[0].result["efficiency_over"]["world_size"] == 8);
  CHECK(rows[0].result["efficiency_over"]["efficiency"].get<double>() == Approx(0.8));
  CHECK(rows[1].result["efficiency_over"]["efficiency"] == 1);
  CHECK(rows[2].result["efficiency_over"]["world_size"] == 16);
  CHECK(rows[4].error == "does not fit");
  CHECK_THAT(sweep_table(rows), Catch::ContainsSubstring("  80.0 % of 16"));
  CHECK(sweep_json(rows)["results"][0]["efficiency_over"]["world_size"] == 8);
  // Of the same rows the one with 8 GPUs runs though it does not fit.
  std::vector<ResultRow> forced = list;
  forced[1].result["warnings"] = {{{"code", "memory"}, {"text", "does not fit"}}};
  CHECK(with_efficiency_over(forced)[0].result["efficiency_over"]["world_size"] == 32);
}

TEST_CASE("A CSV file has columns for figures that its first row has not", "[report][csv]") {
  std::vector<ResultRow> list = {row("1", 8, "1 MiB", 0.1), row("4", 32, "1 MiB", 0.125)};
  list[0].result.erase("one_gpu_fits");  // a job that one GPU could hold
  const std::string text = csv(with_efficiency_over(list));
  CHECK_THAT(text, Catch::ContainsSubstring(",efficiency_over.world_size,"
                                            "efficiency_over.efficiency,"));
  // Over one GPU that cannot hold the job there is none.
  CHECK(list[0].result["scaling_efficiency"].is_null());
  CHECK_THAT(text, !Catch::ContainsSubstring("null"));
}

}  // namespace
}  // namespace gradwire
