#include "sim/validation/expected_misses.hpp"

#include "tests/catch.hpp"

using namespace gradwire::validation;

TEST_CASE("Strict judges each gate against the list of expected misses", "[validation][strict]") {
  // At most 2: 1 meets it, 3 misses it.
  const Gate met{.name = "met", .figure = 1, .limit = 2};
  const Gate missed{.name = "missed", .figure = 3, .limit = 2};
  const std::vector<SeriesReport> reports = {{"one", "", {}, {met, missed}}};
  const auto found = [&](const std::vector<ExpectedMiss>& expected) {
    return unexpected(reports, expected);
  };
  CHECK(found({{"one", "missed", "why"}}).empty());
  CHECK(found({}) == std::vector<std::string>{"one: gate 'missed' is missed"});
  CHECK(found({{"other", "missed", "why"}}).size() == 1);  // another series' does not count
  CHECK(found({{"one", "missed", "why"}, {"one", "met", "why"}}) ==
        std::vector<std::string>{"one: gate 'met' is met; expected_misses.yaml expects a miss"});
  CHECK(
      found({{"one", "missed", "why"}, {"one", "mised", "why"}}) ==
      std::vector<std::string>{"one: gate 'mised' of expected_misses.yaml is none of the series"});
}
