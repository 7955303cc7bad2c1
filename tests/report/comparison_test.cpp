#include "sim/report/comparison.hpp"

#include "sim/report/result_json.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

using namespace gradwire;

namespace {

/// An iteration of `seconds` on 16 GPUs, and `faster` and `slower` with compute so.
ComparisonRow row(const std::string& name, double seconds, double faster, double slower) {
  Point point = make_point("", 16, {{seconds, 16}});
  point.result.iteration_s = {seconds};
  auto result = result_json(point);
  result["at_compute"] = {{"error", 0.25}, {"faster_s", faster}, {"slower_s", slower}};
  return {.name = name, .result = result, .error = {}, .speed_up = {}};
}

std::vector<ComparisonRow> ranked() {
  std::vector<ComparisonRow> rows = {row("ddp", 0.1, 0.095, 0.11), row("slow", 0.2, 0.17, 0.24),
                                     row("fast", 0.08, 0.07, 0.1)};
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

TEST_CASE("A speed-up lies between those with compute faster and slower, under both strategies",
          "[report][compare]") {
  // 0.1 s / 0.08 s = 1.25; with faster compute 0.095 / 0.07 = 1.357, with slower 0.11 / 0.1 = 1.1.
  const SpeedUp fast = ranked()[0].speed_up.value();
  CHECK(fast.mean == Approx(1.25));
  CHECK(fast.low == Approx(1.1));
  CHECK(fast.high == Approx(0.095 / 0.07));
  // 0.1 / 0.2 = 0.5, 0.095 / 0.17 = 0.559, 0.11 / 0.24 = 0.458.
  CHECK(ranked()[2].speed_up.value().low == Approx(0.11 / 0.24));
  const SpeedUp itself = ranked()[1].speed_up.value();
  CHECK(itself.low == 1);
  CHECK(itself.high == 1);
}

TEST_CASE("The table tells what cannot run below it, and staleness where there is one",
          "[report][compare]") {
  auto rows = ranked();
  const std::string table = comparison_table(rows, "ddp");
  CHECK_THAT(table, Catch::ContainsSubstring("\nWithout a result:\n  odd: needs 2^n\n"));
  CHECK_THAT(table, Catch::ContainsSubstring("1.25 [1.10, 1.36]"));
  CHECK(table.find("staleness") == std::string::npos);
  rows[2].result["staleness"] = 3.5;
  const std::string stale = comparison_table(rows, "ddp");
  CHECK_THAT(stale, Catch::ContainsSubstring("staleness\n"));
  CHECK_THAT(stale, Catch::ContainsSubstring("       3.50\n"));
}

TEST_CASE("Without the baseline's result there is no speed-up", "[report][compare]") {
  auto rows = ranked();
  for (ComparisonRow& row : rows) row.speed_up.reset();
  rank_rows(rows, "bsp");
  CHECK_FALSE(rows[0].speed_up);
  CHECK_THAT(comparison_table(rows, "bsp"), !Catch::ContainsSubstring("1.00"));
  CHECK_FALSE(comparison_json(rows, "bsp")["results"][0].contains("speed_up"));
  CHECK(comparison_svg(rows, "bsp", "title").find("×") == std::string::npos);
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

TEST_CASE("A comparison's picture sets the bound and what is not comparable apart",
          "[report][compare]") {
  auto rows = ranked();
  CHECK_THAT(comparison_svg(rows, "ddp", "job"), !Catch::ContainsSubstring("not comparable"));
  rows[0].standing = Standing::bound;
  rows[2].standing = Standing::not_comparable;
  const std::string svg = comparison_svg(rows, "ddp", "job");
  CHECK_THAT(svg, Catch::ContainsSubstring(">bound: fast<"));
  const std::size_t line = svg.find(">not comparable<");
  REQUIRE(line != std::string::npos);
  CHECK(svg.find(">ddp<") < line);
  CHECK(svg.find(">slow<") > line);
  CHECK_THAT(svg, Catch::ContainsSubstring(">their coding is counted"));
  rows[2].why = std::string(no_fit) + ": a GPU would keep some 90 GiB";
  CHECK_THAT(comparison_svg(rows, "ddp", "job"),
             Catch::ContainsSubstring(">they do not fit the GPUs' memory<"));
}

TEST_CASE("A bar of more than four times the baseline is cut in the picture, not in its number",
          "[report][compare]") {
  const auto picture = [](double slowest) {
    std::vector<ComparisonRow> rows = {row("ddp", 0.1, 0.1, 0.1),
                                       row("slow", slowest, slowest, slowest)};
    rank_rows(rows, "ddp");
    return comparison_svg(rows, "ddp", "job");
  };
  CHECK_THAT(picture(0.4), !Catch::ContainsSubstring("<path"));
  const std::string cut = picture(4.0);
  CHECK_THAT(cut, Catch::ContainsSubstring("<path"));
  CHECK_THAT(cut, Catch::ContainsSubstring("4000.0 ms  ×0.03"));
  CHECK_THAT(cut, Catch::ContainsSubstring(">400<"));  // the axis ends at four times 100 ms
  CHECK_THAT(cut, !Catch::ContainsSubstring(">450<"));
}

TEST_CASE("The table notes each warning once, with the rows that have it", "[report][compare]") {
  auto rows = ranked();
  const auto warn = [](ComparisonRow& row, const std::string& text) {
    row.result["warnings"].push_back({{"code", "made-up"}, {"text", text}});
  };
  for (ComparisonRow& row : rows) {
    if (row.rank > 0) warn(row, "of all");
  }
  warn(rows[0], "of two");
  warn(rows[2], "of one");
  warn(rows[2], "of two");
  CHECK_THAT(comparison_table(rows, "ddp"),
             Catch::ContainsSubstring("\nNotes:\n  all: of all\n  fast, slow: of two\n  slow: of "
                                      "one\n\nWithout a result:\n"));
}

TEST_CASE("No communication is the bound above the ranking, not a competitor",
          "[report][compare]") {
  std::vector<ComparisonRow> rows = {row("ddp", 0.1, 0.1, 0.1), row("none", 0.09, 0.09, 0.09)};
  rows[1].result["strategy"] = "none";
  rank_rows(rows, "ddp");
  CHECK(rows[0].name == "none");
  CHECK(rows[0].standing == Standing::bound);
  CHECK(rows[0].rank == 0);
  CHECK(rows[1].rank == 1);
  CHECK_THAT(comparison_table(rows, "ddp"),
             Catch::ContainsSubstring("   -  bound: none (no communication)"));
  const auto json = comparison_json(rows, "ddp")["results"];
  CHECK(json[0]["standing"] == "bound");
  CHECK_FALSE(json[0].contains("rank"));
  CHECK(json[1]["standing"] == "ranked");
  const auto table = comparison_rows(rows);
  CHECK(table[0].result["standing"] == "bound");
  CHECK(table[0].result["rank"] == "");
  CHECK(table[1].result["rank"] == "1");
}

TEST_CASE("A strategy that coding without a measurement decides is not comparable",
          "[report][compare]") {
  const auto coded = [](const std::string& name, double coding) {
    ComparisonRow made = row(name, 0.08, 0.08, 0.08);
    made.result["coding_estimate_s"] = {
        {"mean", coding}, {"low", coding / 2.5}, {"high", coding * 2.5}};
    return made;
  };
  // Of 80 ms 8 may be 3.2 to 20: 75.2 to 92, a ratio of 1.22; 10 may be 4 to 25: 74 to 95, 1.28.
  std::vector<ComparisonRow> rows = {coded("much", 0.01), coded("little", 0.008),
                                     row("ddp", 0.1, 0.1, 0.1)};
  rank_rows(rows, "ddp");
  CHECK(rows[0].name == "little");
  CHECK(rows[1].name == "ddp");
  CHECK(rows[1].rank == 2);
  CHECK(rows[2].name == "much");
  CHECK(rows[2].rank == 0);
  CHECK_THAT(comparison_table(rows, "ddp"),
             Catch::ContainsSubstring("\nNot comparable:\n   -      -  much"));
  CHECK_THAT(comparison_table(rows, "ddp"),
             Catch::ContainsSubstring("  much: 10.0 ms of coding are counted, not measured, and "
                                      "may be 4.0 to 25.0: an iteration of 74.0 to 95.0 ms"));
  CHECK(comparison_json(rows, "ddp")["results"][2]["standing"] == "not comparable");
}

TEST_CASE("A strategy that does not fit the memory is not comparable", "[report][compare]") {
  const auto kept = [](const std::string& name, double allocated) {
    ComparisonRow made = row(name, 0.08, 0.08, 0.08);
    made.result["memory_bytes"] = {
        {"allocated", allocated}, {"context", 1e9}, {"peak", 50e9}, {"capacity", 40e9}};
    return made;
  };
  std::vector<ComparisonRow> rows = {kept("whole", 40e9), kept("sharded", 38e9),
                                     row("ddp", 0.1, 0.1, 0.1)};
  rank_rows(rows, "ddp");
  CHECK(rows[0].name == "sharded");
  CHECK(rows[0].rank == 1);
  CHECK(rows[2].name == "whole");
  CHECK(rows[2].rank == 0);
  CHECK(rows[2].why == "does not fit: a GPU would keep some 41.00 GB at once, and has 40.00 GB");
}
