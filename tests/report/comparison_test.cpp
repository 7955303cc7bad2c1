#include "sim/report/comparison.hpp"

#include "sim/report/result_json.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

using namespace gradwire;

namespace {

/// An iteration of `seconds` on 16 GPUs, bounds 5 % below and 10 % above (points.hpp).
ComparisonRow row(const std::string& name, double seconds) {
  Point point = make_point("", 16, {{seconds, 16}});
  point.result.iteration_s = {seconds};
  return {.name = name, .result = result_json(point), .error = {}, .speed_up = {}};
}

std::vector<ComparisonRow> ranked() {
  std::vector<ComparisonRow> rows = {row("ddp", 0.1), row("slow", 0.2), row("fast", 0.08)};
  rows.insert(rows.begin(),
              {.name = "odd", .result = nullptr, .error = "needs 2^n", .speed_up = {}});
  rank_rows(rows, "ddp");
  return rows;
}

}  // namespace

TEST_CASE("Strategies are ranked by throughput, those that cannot run last", "[report][compare]") {
  const auto rows = ranked();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].name == "fast");
  CHECK(rows[1].name == "ddp");
  CHECK(rows[2].name == "slow");
  CHECK(rows[2].rank == 3);
  CHECK(rows[3].name == "odd");
  CHECK(rows[3].rank == 0);
}

TEST_CASE("A speed-up lies between the bounds of both over each other", "[report][compare]") {
  // 0.1 s / 0.08 s = 1.25; DDP's 0.095 to 0.11 s, fast's 0.076 to 0.088 s:
  // 0.095 / 0.088 = 1.0795, 0.11 / 0.076 = 1.4474.
  const SpeedUp fast = ranked()[0].speed_up;
  CHECK(fast.mean == Approx(1.25));
  CHECK(fast.low == Approx(0.095 / 0.088));
  CHECK(fast.high == Approx(0.11 / 0.076));
  const SpeedUp itself = ranked()[1].speed_up;
  CHECK(itself.low == 1);
  CHECK(itself.high == 1);
}

TEST_CASE("The table tells what cannot run below it, and staleness where there is one",
          "[report][compare]") {
  auto rows = ranked();
  const std::string table = comparison_table(rows, "ddp");
  CHECK_THAT(table, Catch::ContainsSubstring("\nCannot run here:\n  odd: needs 2^n\n"));
  CHECK_THAT(table, Catch::ContainsSubstring("1.25 [1.08, 1.45]"));
  CHECK(table.find("staleness") == std::string::npos);
  rows[2].result["staleness"] = 3.5;
  const std::string stale = comparison_table(rows, "ddp");
  CHECK_THAT(stale, Catch::ContainsSubstring("staleness\n"));
  CHECK_THAT(stale, Catch::ContainsSubstring("       3.50\n"));
}

TEST_CASE("A comparison's JSON has rank and speed-up, or the error", "[report][compare]") {
  const auto json = comparison_json(ranked(), "ddp");
  CHECK(json["schema"] == "gradwire.results/1");
  REQUIRE(json["results"].size() == 4);
  CHECK(json["results"][0]["label"] == "fast");
  CHECK(json["results"][0]["rank"] == 1);
  CHECK(json["results"][0]["speed_up"]["over"] == "ddp");
  CHECK(json["results"][0]["iteration_time_s"]["mean"] == Approx(0.08));
  CHECK(json["results"][3]["error"] == "needs 2^n");
  CHECK_FALSE(json["results"][3].contains("rank"));
}

TEST_CASE("A comparison's picture has a bar a result", "[report][compare]") {
  const std::string svg = comparison_svg(ranked(), "ddp", "resnet50 <16>");
  CHECK_THAT(svg, Catch::ContainsSubstring("resnet50 &lt;16&gt;"));
  for (const char* name : {">fast<", ">ddp<", ">slow<"}) {
    CHECK_THAT(svg, Catch::ContainsSubstring(name));
  }
  CHECK(svg.find(">odd<") == std::string::npos);
}

TEST_CASE("The table notes the warnings that not all rows have", "[report][compare]") {
  auto rows = ranked();
  const auto warn = [](ComparisonRow& row, const std::string& text) {
    row.result["warnings"].push_back({{"code", "made-up"}, {"text", text}});
  };
  for (ComparisonRow& row : rows) {
    if (row.rank > 0) warn(row, "of all");
  }
  CHECK(comparison_table(rows, "ddp").find("Notes:") == std::string::npos);
  warn(rows[2], "of one");
  const std::string table = comparison_table(rows, "ddp");
  CHECK_THAT(table, Catch::ContainsSubstring("\nNotes:\n  slow: of one\n\nCannot run here:\n"));
  CHECK(table.find("of all") == std::string::npos);
}
