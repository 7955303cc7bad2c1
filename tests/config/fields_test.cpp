#include "sim/config/yaml/fields.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

enum class Colour : std::uint8_t { red, green };

struct Inner {
  int depth = 1;
};

struct Example {
  int count = 3;
  Seconds time{2e-3};
  std::optional<double> share;
  std::vector<int> list;
  Colour colour = Colour::green;
  std::vector<Inner> inner;
  double needed = 0;
};

const Fields<Inner>& inner_fields() {
  static const Fields<Inner> fields = {
      "inner", "parts", {field("depth", &Inner::depth, "how deep", between(1, 9))}};
  return fields;
}

const Fields<Example>& example_fields() {
  static const Fields<Example> fields = {
      "example",
      "all kinds of fields",
      {field("count", &Example::count, "how many", between(1, 64)),
       field("time", &Example::time, "how long"),
       share("share", &Example::share, "of all", between(Ratio{0}, Ratio{1})),
       field("list", &Example::list, "numbers", at_least(0)),
       choice("colour", &Example::colour, {{"red", Colour::red}, {"green", Colour::green}}, "dye"),
       inside("inner", &Example::inner, inner_fields, "parts"),
       field("needed", &Example::needed, "no default", above(0.0), required)}};
  return fields;
}

Example read(const std::string& text) {
  const YamlValue document = parse_yaml(text, "e.yaml");
  Example example;
  example_fields().read_all(YamlMap(document), example);
  return example;
}

}  // namespace

TEST_CASE("A declared key fills its member, and an absent one leaves it", "[config][fields]") {
  const Example all = read(
      "{count: 5, time: 7 us, share: 25 %, list: [1, 2], colour: red, inner: [{depth: 2}, {}], "
      "needed: 1.5}");
  CHECK(all.count == 5);
  CHECK(all.time == Seconds{7e-6});
  CHECK(all.share == 0.25);
  CHECK(all.list == std::vector<int>{1, 2});
  CHECK(all.colour == Colour::red);
  REQUIRE(all.inner.size() == 2);
  CHECK(all.inner[0].depth == 2);
  CHECK(all.inner[1].depth == 1);
  const Example least = read("{needed: 1}");
  CHECK(least.count == 3);
  CHECK(least.time == Seconds{2e-3});
  CHECK_FALSE(least.share.has_value());
  CHECK(least.colour == Colour::green);
}

TEST_CASE("What a field does not take is reported at its place", "[config][fields]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>(
      {{"{}", "e.yaml:1:1: missing key 'needed'; expected a number"},
       {"{count: 65, needed: 1}",
        "e.yaml:1:9: 'count' is '65'; expected a whole number, at least 1, at most 64"},
       {"{time: 7, needed: 1}",
        "e.yaml:1:8: 'time' is '7', without a unit; expected a time such as '20 us' (units s, ms, "
        "us, ns)"},
       {"{colour: rde, needed: 1}",
        "e.yaml:1:10: 'colour' is 'rde'; expected one of red, green; did you mean 'red'?"},
       {"{inner: [{depth: 0}], needed: 1}",
        "e.yaml:1:18: 'depth' is '0'; expected a whole number, at least 1, at most 9"},
       {"{cuont: 4, needed: 1}",
        "e.yaml:1:2: unknown key 'cuont'; expected one of count, time, share, list, colour, inner, "
        "needed; did you mean 'count'?"},
       // A declared key is no misspelling of the one that is missing; another one is.
       {"{neded: 1, count: 4}",
        "e.yaml:1:2: missing key 'needed'; expected a number; is 'neded' a misspelling of it?"}}));
  CHECK_THROWS_WITH(read(text), message);
}

TEST_CASE("Declared keys say their default, range, unit and choices", "[config][fields]") {
  const auto keys = example_fields().keys();
  REQUIRE(keys.size() == 7);
  CHECK(keys[0].fallback == "3");
  CHECK(describe(keys[0].value) == "count, 1 to 64");
  CHECK(keys[1].fallback == "2 ms");
  CHECK(keys[1].value.units == std::vector<std::string>{"s", "ms", "us", "ns"});
  CHECK(keys[2].fallback == "none");
  CHECK(describe(keys[2].value) == "share, 0 % to 100 %");
  CHECK(describe(keys[3].value) == "list of count, at least 0");
  CHECK(keys[4].fallback == "green");
  CHECK(describe(keys[4].value) == "`red`, `green`");
  CHECK(describe(keys[5].value) == "list of `inner`");
  CHECK(keys[6].fallback == required);
  CHECK(describe(keys[6].value) == "number, above 0");
}
