#include "tests/engine/oracle/max_min.hpp"

#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// A problem with the uses of each flow spelt out.
std::vector<double> rates(const std::vector<double>& capacity,
                          const std::vector<std::vector<RowUse>>& uses,
                          const std::vector<double>& caps = {}) {
  std::vector<CappedFlow> flows;
  for (std::size_t f = 0; f < uses.size(); ++f) {
    flows.push_back({uses[f]});
    if (!caps.empty()) flows.back().cap = caps[f];
  }
  return max_min_rates(capacity, flows);
}

TEST_CASE("Flows of one link share it equally", "[engine][max-min]") {
  // 9 / 3
  CHECK(rates({9}, {{{0}}, {{0}}, {{0}}}) == std::vector<double>{3, 3, 3});
}

TEST_CASE("What a flow limited elsewhere leaves goes to the others", "[engine][max-min]") {
  // The parking lot of Bertsekas and Gallager, Data Networks (1992), section 6.5.2, here with links
  // 10 and 4: the long flow and one short share 4 as 2 + 2; the other short gets 10 - 2 = 8.
  CHECK(rates({10, 4}, {{{0}, {1}}, {{0}}, {{1}}}) == std::vector<double>{2, 8, 2});
}

TEST_CASE("A flow's cap frees the rest of its link", "[engine][max-min]") {
  // 10 - 1 = 9 for two: 4.5 each
  CHECK(rates({10}, {{{0}}, {{0}}, {{0}}}, {1, Transport::no_cap, 100}) ==
        std::vector<double>{1, 4.5, 4.5});
}

TEST_CASE("Weights load a link and rates stay equal", "[engine][max-min]") {
  // 3 x + 1 x = 8: x = 2; the third has 10 - 2 = 8 of the other link.
  CHECK(rates({8, 10}, {{{0, 3}}, {{0, 1}, {1, 1}}, {{1, 1}}}) == std::vector<double>{2, 2, 8});
}

TEST_CASE("Three levels of bottlenecks", "[engine][max-min]") {
  // Link 0: a, b share 2 -> 1 each. Link 1: b, c share 5: c has 4, unless link 2 (c, d: 6) gives it
  // less: 6 / 2 = 3 < 4. So c = 3, d = 3; link 1 keeps 1 unused.
  CHECK(rates({2, 5, 6}, {{{0}}, {{0}, {1}}, {{1}, {2}}, {{2}}}) ==
        std::vector<double>{1, 1, 3, 3});
}

}  // namespace
}  // namespace gradwire
