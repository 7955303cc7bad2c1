#include "sim/engine/pair_numbers.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("a pair keeps the number it was given first, whatever comes after it",
          "[engine][pair-numbers]") {
  PairNumbers numbers;
  constexpr int sources = 50;  // 50 * 60 pairs: the table grows from 64 places to 8192
  constexpr int destinations = 60;
  const auto expected = [](int source, int destination) {
    return static_cast<std::uint32_t>(source * destinations + destination);
  };
  for (int source = 0; source < sources; ++source) {
    for (int destination = 0; destination < destinations; ++destination) {
      const std::uint32_t number = expected(source, destination);
      CHECK(numbers.number({source, destination, 1}, number) == std::pair(number, true));
    }
  }
  for (int source = 0; source < sources; ++source) {
    for (int destination = 0; destination < destinations; ++destination) {
      const auto found = numbers.number({source, destination, 1}, 1'000'000);
      CHECK(found == std::pair(expected(source, destination), false));
    }
  }
}

TEST_CASE("pairs differ by direction and by how many connections they have",
          "[engine][pair-numbers]") {
  PairNumbers numbers;
  CHECK(numbers.number({1, 2, 1}, 0).second);
  CHECK(numbers.number({2, 1, 1}, 1).second);
  CHECK(numbers.number({1, 2, 2}, 2).second);
  CHECK(numbers.number({1, 2, 1}, 3).first == 0);
  numbers.clear();
  CHECK(numbers.number({1, 2, 1}, 4) == std::pair(std::uint32_t{4}, true));
}
