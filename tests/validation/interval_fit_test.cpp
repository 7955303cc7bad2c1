#include "sim/validation/interval_fit.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace gradwire::validation {
namespace {

/// As doubt_widths has it.
constexpr std::size_t several_gpus = 0;

/// Rows of one series with this doubt alone, the i-th of `count` slower by i + 1 hundredths.
std::vector<DoubtedRow> rows_up_to(int count, std::size_t doubt) {
  std::vector<DoubtedRow> rows;
  for (int i = 1; i <= count; ++i) {
    DoubtedRow& row = rows.emplace_back();
    row.slower = 0.01 * i;
    row.of.at(doubt) = 1;
  }
  return rows;
}

Doubt doubt(const std::string& name, double low, double high) {
  return {.name = name, .low = low, .high = high, .width = "", .of = 1};
}

/// With doubts of a half at both ends beside one of several GPUs, of half the iteration.
Row row_of(double measured, double predicted, const std::string& unit) {
  Row row{.role = "score", .unit = unit, .measured = measured, .predicted = predicted};
  row.doubts = {doubt("profile", 0.3, 0.4), doubt("spread", 0.4, 0.3),
                doubt("several_gpus", 0.1, 0.2)};
  row.doubts.back().width = "several_gpus";
  row.doubts.back().of = 0.5;
  return row;
}

SeriesReport report_of(const std::vector<Row>& rows) {
  SeriesReport report;
  report.rows = rows;
  return report;
}

}  // namespace

// The least of the score's sum over an end is its quantile: of 50 rows 8 %, 4, lie above.
TEST_CASE("Of rows with one doubt the fitted end leaves 8 of 100 above", "[validation][doubts]") {
  const auto rows = rows_up_to(50, several_gpus);
  const DoubtWidths fitted = fit_widths(rows);
  const double end = std::log1p(fitted.several_gpus.high);
  CHECK(end > 0.44);  // steps of a tenth, and the narrowest of like scores
  CHECK(end < 0.48);
  CHECK(fitted.several_gpus.low == 0);  // none is faster
  CHECK(fitted.machines == RelativeError{});
}

TEST_CASE("Jobs that went wrong widen no end", "[validation][doubts]") {
  auto rows = rows_up_to(50, several_gpus);
  const DoubtWidths before = fit_widths(rows);
  for (int i = 0; i < 4; ++i) rows[rows.size() - 1 - static_cast<std::size_t>(i)].slower = 1.5;
  CHECK(fit_widths(rows).several_gpus.high <= before.several_gpus.high);
}

TEST_CASE("A series of many rows counts with their root", "[validation][doubts]") {
  // 64 rows of one series, a tenth slower, and one of another that is no slower: 8 to 1.
  auto rows = rows_up_to(64, several_gpus);
  for (DoubtedRow& row : rows) row.slower = 0.1;
  rows.push_back(rows.front());
  rows.back().series = 1;
  rows.back().slower = 0;
  CHECK(std::log1p(fit_widths(rows).several_gpus.high) == Approx(0.1).epsilon(0.1));
}

TEST_CASE("A row's doubts without a width stand together beside those with one",
          "[validation][doubts]") {
  const std::vector<SeriesReport> reports = {report_of({row_of(110, 100, "ms")}),
                                             report_of({row_of(110, 100, "samples/s")})};
  const auto rows = doubted_rows(reports);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].slower == Approx(std::log(1.1)));
  CHECK(rows[1].slower == Approx(-std::log(1.1)));  // a higher rate is a shorter time
  CHECK(rows[1].series == 1);
  CHECK(rows[0].others.low == Approx(0.5));  // 3, 4, 5
  DoubtWidths widths;
  widths.several_gpus = {0.2, 0.4};
  CHECK(ends_of(rows[0], widths).high == Approx(std::hypot(0.5, 0.2)));
  CHECK(holds(rows[0], widths));
  DoubtedRow slower = rows[0];
  slower.slower = std::log(1.6);
  CHECK(!holds(slower, widths));
}

TEST_CASE("Rows that constants were fitted to, and those without doubts, fit no width",
          "[validation][doubts]") {
  Row fitted = row_of(110, 100, "ms");
  fitted.role = "calibrate";
  Row without = row_of(110, 100, "ms");
  without.doubts.clear();
  CHECK(doubted_rows(std::vector{report_of({fitted, without})}).empty());
}

}  // namespace gradwire::validation
