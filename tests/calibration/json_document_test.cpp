#include "calibration/import/json_document.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/refusal.hpp"

namespace gradwire::calibration {
namespace {

std::string place(const JsonValue& value) {
  return std::to_string(value.where.line) + ":" + std::to_string(value.where.column);
}

std::string error_of(const std::string& text) {
  return gradwire::test::refusal_of([&] {
    const JsonValue document = parse_json(text, "f.json");
    JsonMap map(document);
    static_cast<void>(map.require_whole("count", 1));
    map.finish();
  });
}

}  // namespace

TEST_CASE("A JSON value knows its line and column", "[import][json]") {
  // The text is laid out so that each place can be counted by eye.
  const JsonValue document = parse_json(
      "{\"a\": 1,\n"
      "  \"list\": [1,22,\"x\", {\"b\": null}],\n"
      "  \"c\" :true, \"d\":-1.5e3}",
      "f.json");
  CHECK(place(document) == "1:1");
  CHECK(place(*document.find("a")) == "1:7");
  const JsonValue& list = *document.find("list");
  CHECK(place(list) == "2:11");
  REQUIRE(list.items.size() == 4);
  CHECK(place(list.items[0]) == "2:12");
  CHECK(place(list.items[1]) == "2:14");
  CHECK(place(list.items[2]) == "2:17");
  CHECK(place(list.items[3]) == "2:22");
  CHECK(place(*list.items[3].find("b")) == "2:28");
  CHECK(place(*document.find("c")) == "3:8");
  CHECK(document.find("c")->yes);
  CHECK(place(*document.find("d")) == "3:18");
  CHECK(document.find("d")->number == -1500);
  CHECK_FALSE(document.find("d")->whole.has_value());
}

TEST_CASE("Bad JSON is refused with place, reason and expectation", "[import][json]") {
  CHECK(error_of("{\"count\": 1}") == "accepted");
  CHECK(error_of("{\"count\": 0}") ==
        "f.json:1:11: 'count' is 0; expected a whole number of at least 1");
  CHECK(error_of("{\"count\": \"1\"}") == "f.json:1:11: 'count' is a text; expected a number");
  CHECK(error_of("{}") == "f.json:1:1: the file has no 'count'; expected a number");
  CHECK(error_of("[]") == "f.json:1:1: the file is a list; expected an object");
  CHECK(error_of("{\"count\": 1,\n \"cuont\": 2}") ==
        "f.json:2:11: unknown key 'cuont'; expected one of count; did you mean 'count'?");
  CHECK(error_of("{\"count\": 1, \"count\": 2}") ==
        "f.json:1:14: the key 'count' stands twice; expected it once");
  CHECK(error_of("{\"count\": 1,") ==
        "f.json:1:13: the JSON breaks off or is none; expected one JSON object");
  CHECK(error_of("") == "f.json:1:1: the JSON breaks off or is none; expected one JSON object");
  CHECK(error_of("{\"count\": 1e999}").starts_with("f.json:1:"));
  CHECK(error_of(std::string(100'000, '[')) ==
        "f.json:1:65: more than 64 levels (limit json_depth: JSON values inside each other); "
        "expected fewer");
}

}  // namespace gradwire::calibration
