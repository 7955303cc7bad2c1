#include "strategies/parts/release.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("a release is read from its text", "[release]") {
  CHECK(parse_release("1.4") == Release{1, 4});
  CHECK(parse_release("1.13.1") == Release{1, 13});
  const std::string text = GENERATE("1", "one.four", "1.", "1.x", "1.4-rc");
  CHECK_FALSE(parse_release(text).has_value());
}
