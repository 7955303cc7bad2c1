#include "sim/report/comparison_groups.hpp"

#include <vector>

#include "sim/core/pair_odds.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// Ranked strategies of these throughputs, best first, "a", "b", ...; the baseline is "a".
std::vector<ComparisonRow> rows_of(const std::vector<double>& throughputs) {
  std::vector<ComparisonRow> rows;
  for (const double throughput : throughputs) {
    const int rank = static_cast<int>(rows.size()) + 1;
    rows.push_back({.name = std::string(1, static_cast<char>('a' + rank - 1)),
                    .result = {{"throughput_samples_per_s", throughput}, {"exactness", "exact"}},
                    .error = {},
                    .rank = rank,
                    .speed_up = {}});
  }
  group_rows(rows, "a");
  return rows;
}

std::string text_of(const std::vector<double>& throughputs) {
  return groups_text(rows_of(throughputs), "a");
}

TEST_CASE("A group ends where its first beats a row with 90 %", "[report][compare]") {
  // 90 % from 1.1524 times as fast on: 100 / 87 = 1.149 and 100 / 86 = 1.163; 86 / 75 = 1.147.
  const auto rows = rows_of({100, 99, 87, 86, 75, 74});
  const std::vector<int> groups = {1, 1, 1, 2, 2, 3};
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].group == groups[i]);
  CHECK_FALSE(rows[0].beats_baseline);
  CHECK(rows[2].beats_baseline == odds_of_faster(0.87));
}

TEST_CASE("What is not ranked is in no group", "[report][compare]") {
  auto rows = rows_of({100, 50});
  rows[1].rank = 0;
  group_rows(rows, "a");
  CHECK(rows[1].group == 0);
  CHECK_FALSE(rows[1].beats_baseline);
  CHECK(groups_text(rows, "a").empty());
}

TEST_CASE("No winner is reported within a group", "[report][compare]") {
  CHECK_THAT(text_of({100, 99}), Catch::ContainsSubstring("No significant difference between any"));
  CHECK_THAT(
      text_of({100, 99, 98, 50}),
      Catch::ContainsSubstring("Fastest, no significant difference between these 3: a, b and c."));
  CHECK_THAT(text_of({100, 99, 98, 97, 96, 95, 94, 93, 50}),
             Catch::ContainsSubstring("these 8: a, b, c, d, e, f and 2 more."));
  // ln 2 = 0.693, x = 0.693 / sqrt(0.06^2 + 0.2218^2) = 3.017: 1/2 (1 + 3.017 / sqrt(11.10)) =
  // 0.9528.
  CHECK_THAT(text_of({100, 50}), Catch::ContainsSubstring(
                                     "Fastest: a; it beats each of the others with 95 % or more."));
}

TEST_CASE("What is not exact is explained where there is some", "[report][compare]") {
  auto rows = rows_of({100, 99});
  CHECK_THAT(groups_text(rows, "a"), !Catch::ContainsSubstring("stale"));
  rows[1].result["exactness"] = "stale";
  CHECK_THAT(groups_text(rows, "a"), Catch::ContainsSubstring("stale: older gradients"));
}

TEST_CASE("Odds are reported without rounding up", "[report][compare]") {
  CHECK(odds_text(0.90) == "90 %");
  CHECK(odds_text(0.899) == "89 %");
  CHECK(odds_text(0.9555) == "95 %");
}

}  // namespace
}  // namespace gradwire
