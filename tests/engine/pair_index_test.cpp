#include "sim/engine/pair_index.hpp"

#include <utility>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

TEST_CASE("Pairs are numbered in the order in which they are asked for", "[engine][pair_index]") {
  PairIndex index(5);
  CHECK(index.of(1, 2) == 5);
  CHECK(index.of(2, 1) == 6);
  bool is_new = true;
  CHECK(index.of(1, 2, is_new) == 5);
  CHECK(!is_new);
  CHECK(index.pair(6) == std::pair<PairIndex::Number, PairIndex::Number>(2, 1));
  CHECK(index.size() == 2);
}

// 10 000 pairs, many times the seats that the table begins with.
TEST_CASE("Numbers stay when the table grows", "[engine][pair_index]") {
  PairIndex index;
  for (const bool again : {false, true}) {
    for (PairIndex::Number i = 0; i < 10'000; ++i) {
      bool is_new = false;
      REQUIRE(index.of(i % 100, i / 100, is_new) == i);
      REQUIRE(is_new != again);
    }
  }
}

}  // namespace
}  // namespace gradwire
