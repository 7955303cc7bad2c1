#include "sim/validation/report.hpp"

#include <nlohmann/json.hpp>

#include "sim/validation/collectives_gates.hpp"
#include "tests/catch.hpp"

namespace gradwire::validation {
namespace {

constexpr double mebibyte = 1048576;

Row scored(double measured, double predicted, const std::string& gate = "a", double bytes = 0) {
  return {.group = "g",
          .gate = gate,
          .role = "score",
          .unit = "us",
          .measured = measured,
          .predicted = predicted,
          .bytes = bytes};
}

const Gate& gate(const std::vector<Gate>& gates, const std::string& begin) {
  for (const Gate& one : gates) {
    if (one.name.starts_with(begin)) return one;
  }
  throw std::runtime_error("no gate " + begin);
}

TEST_CASE("An interval is counted where nothing was fitted to its row", "[validation]") {
  std::vector<Row> rows(4, scored(100, 90));
  rows[0].low = 80;  // 100 is inside; the half width is 20 / 90
  rows[0].high = 120;
  rows[1].low = 85;  // 100 is above; 5 / 90
  rows[1].high = 95;
  rows[2].role = "calibrate";
  rows[2].high = 200;
  // The last has none.
  const Coverage coverage = coverage_of(rows);
  CHECK(coverage.rows == 2);
  CHECK(coverage.inside == 1);
  CHECK(coverage.width == Approx((5.0 / 90 + 20.0 / 90) / 2));
}

TEST_CASE("An error is relative to the measurement, of numbers in per cent it is in points",
          "[validation]") {
  CHECK(scored(80, 100).error() == Approx(0.25));   // 100 / 80 - 1
  CHECK(scored(100, 80).error() == Approx(-0.20));  // 80 / 100 - 1
  CHECK(scored(80, 100).factor() == Approx(1.25));
  CHECK(scored(100, 80).factor() == Approx(1.25));
  Row difference = scored(-1.0, -0.25);
  difference.unit = "%";
  CHECK(difference.error() == Approx(0.0075));  // three quarters of a point
}

TEST_CASE("A row misses beyond its limit, its factor, by another choice or without prediction",
          "[validation]") {
  Row row = scored(100, 111);
  CHECK_FALSE(row.missed());  // under no limit
  row.limit = 0.12;
  CHECK_FALSE(row.missed());
  row.limit = 0.10;
  CHECK(row.missed());
  Row half = scored(100, 60);  // 1.67 times too fast, 40 % off
  half.limit_factor = 1.6;
  CHECK(half.missed());
  half.predicted = 63;  // 1.59 times
  CHECK_FALSE(half.missed());
  half.other_choice = true;
  CHECK(half.missed());
  Row none = scored(100, 0);
  none.failure = "no way";
  CHECK(none.missed());
}

TEST_CASE("Calibration rows never count among the scored ones", "[validation]") {
  std::vector<Row> rows;
  // |errors| 1, 2, 3 and 10 %: median 2.5, p90 of four = 3 + 0.7 * 7 (numpy's linear), worst 10
  for (const double predicted : {101.0, 98.0, 103.0, 110.0}) rows.push_back(scored(100, predicted));
  rows.push_back(scored(100, 300));
  rows.back().role = "calibrate";
  rows.push_back(scored(100, 1));
  rows.back().failure = "no way";
  const Errors errors = errors_of(rows, "score");
  CHECK(errors.rows == 5);
  CHECK(errors.failed == 1);
  CHECK(errors.missed == 1);
  CHECK(errors.mean == Approx(0.04));
  CHECK(errors.median == Approx(0.025));
  CHECK(errors.p90 == Approx(0.079));
  CHECK(errors.worst == Approx(0.10));
  CHECK(errors.bias == Approx(0.03));  // (1 - 2 + 3 + 10) / 4
  CHECK(errors_of(rows, "calibrate").worst == Approx(2.0));
}

TEST_CASE("Rank agreement counts the pairs of alternatives that keep their order", "[validation]") {
  // Measured a < b < c; predicted b < a < c: of ab, ac, bc one is wrong. d is compared with nobody.
  std::vector<Row> rows = {scored(1, 2), scored(2, 1), scored(3, 3), scored(4, 1)};
  for (std::size_t i = 0; i < 3; ++i) rows[i].compared = "x";
  CHECK(rank_agreement(rows).pairs == 3);
  CHECK(rank_agreement(rows).agreeing == 2);
  // A difference of two alternatives tells their order by its sign.
  Row difference = scored(-1, -0.1);
  difference.unit = "%";
  difference.compared = "y";
  Row opposite = difference;
  opposite.predicted = 0.1;
  CHECK(rank_agreement(std::vector{difference, opposite}).pairs == 2);
  CHECK(rank_agreement(std::vector{difference, opposite}).agreeing == 1);
}

TEST_CASE("Of predictions that are the same but for rounding none is the faster", "[validation]") {
  std::vector<Row> rows = {scored(2, 5), scored(3, 5 * (1 + 1e-12)), scored(4, 5 * (1 + 1e-6))};
  for (Row& row : rows) row.compared = "x";
  // The third is above both others.
  CHECK(rank_agreement(rows).pairs == 3);
  CHECK(rank_agreement(rows).agreeing == 2);
}

TEST_CASE("Said odds count how often the one that is called faster is", "[validation]") {
  // Predicted 1 and 1.1: ln = 0.0953, x = 0.0953 / sqrt(0.06^2 + 0.0305^2) = 1.416, odds 85.4 %;
  // 10 against either: x = 3.1, odds 95.5 %. Measured, 10 is the slowest: one pair of three is
  // right.
  std::vector<Row> rows = {scored(2, 1), scored(3, 1.1), scored(1, 10), scored(1, 1)};
  for (std::size_t i = 0; i < 3; ++i) rows[i].compared = "x";
  const std::vector<SaidOdds> ranges =
      said_odds(std::vector<SeriesReport>{{.rows = rows, .gates = {}}});
  REQUIRE(ranges.size() == 5);
  CHECK(ranges[3].low == Approx(0.8));
  CHECK(ranges[3].pairs == 1);
  CHECK(ranges[3].right == 1);
  CHECK(ranges[3].said == Approx(0.854).epsilon(1e-3));
  CHECK(ranges[4].pairs == 2);
  CHECK(ranges[4].right == 0);
  CHECK(ranges[0].pairs == 0);
}

TEST_CASE("Rows come back from a worker's answer as they were", "[validation]") {
  Row row = scored(1.25, 0.1, "e mpi", 3e9);
  row.label = "1 MiB";
  row.how = "ring ll";
  row.spread = 0.125;
  row.limit = 0.12;
  row.limit_factor = 1.6;
  row.other_choice = true;
  row.compared = "x";
  row.missing = "a \"thing\"";
  Row failed = scored(2, 0);
  failed.failure = "no way";
  const std::vector<Row> rows = {row, failed};
  const auto text = rows_json(rows).dump();
  const auto back = rows_of(nlohmann::ordered_json::parse(text));
  REQUIRE(back.size() == 2);
  CHECK(rows_json(back).dump() == text);
  CHECK(back[0].predicted == row.predicted);  // to the bit
  CHECK(back[0].other_choice);
  CHECK(back[1].failure == "no way");
}

TEST_CASE("Part (a) is judged by size: medians at both ends, a factor between", "[validation]") {
  // 16 MiB: 10 and 30 % off, median 20; 64 KiB: 40 %; 1 MiB: factors 1.5 and 2
  std::vector<Row> rows = {scored(100, 110, "a", 16 * mebibyte),
                           scored(100, 70, "a", 16 * mebibyte), scored(100, 140, "a", 65536),
                           scored(100, 150, "a", mebibyte), scored(100, 50, "a", mebibyte)};
  rows[1].group = "h";
  rows.push_back(scored(100, 900, "a", 16 * mebibyte));
  rows.back().role = "calibrate";
  const auto gates = collective_gates(rows);
  const Gate& large = gate(gates, "(a) median from 8 MiB");
  CHECK(large.figure == Approx(0.20));
  CHECK_FALSE(large.met());
  CHECK(large.note == "2 rows; 1 of 2 tables by themselves");
  CHECK(gate(gates, "(a) median below 256 KiB").figure == Approx(0.40));
  const Gate& between = gate(gates, "(a) worst factor");
  CHECK(between.figure == Approx(2));
  CHECK_FALSE(between.met());
  CHECK(between.note == "1 of 2 rows are within");
}

TEST_CASE("A gate without rows is neither met nor given a figure", "[validation]") {
  for (const Gate& one : collective_gates({})) {
    INFO(one.name);
    CHECK_FALSE(one.known);
    CHECK_FALSE(one.met());
  }
}

TEST_CASE("Part (d) asks for every choice", "[validation]") {
  std::vector<Row> rows = {scored(100, 100.5, "d"), scored(100, 99.6, "d")};
  CHECK(gate(collective_gates(rows), "(d) NCCL's printed choices").met());
  CHECK(gate(collective_gates(rows), "(d) worst").figure == Approx(0.005));
  rows[0].other_choice = true;
  const auto gates = collective_gates(rows);
  CHECK(gate(gates, "(d) NCCL's printed choices").figure == 1);
  CHECK(gate(gates, "(d) NCCL's printed choices").limit == 2);
  CHECK_FALSE(gate(gates, "(d) NCCL's printed choices").met());
}

TEST_CASE("The text marks a miss with the mechanism, and says which rows were fitted to",
          "[validation]") {
  Row fitted = scored(100, 101);
  fitted.label = "1 MiB";
  fitted.role = "calibrate";
  Row row = scored(100, 120);
  row.label = "2 MiB";
  row.how = "ring ll";
  row.limit = 0.1;
  row.missing = "staging";
  const SeriesReport report{
      "s", "what it is", {fitted, row}, {{.name = "g", .figure = 0.2, .limit = 0.1, .unit = "%"}}};
  const std::string text = validation_text(report);
  CHECK(text.find("missed: staging") != std::string::npos);
  CHECK(text.find("calibrated      1 rows: mean 1.0 %") != std::string::npos);
  CHECK(text.find("scored          1 rows: mean 20.0 %") != std::string::npos);
  CHECK(text.find("20.0 %  (at most  10.0 %)  MISSED") != std::string::npos);
}

}  // namespace
}  // namespace gradwire::validation
