#include "strategies/parts/lane.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

Lane::Make by_exchange_0() {
  return [](const LaneItem& load) { return Messages{0, load.size, load.tensors, load.label}; };
}

std::vector<std::string> labels(const Operations& operations) {
  std::vector<std::string> names;
  for (const auto& operation : operations) names.push_back(std::get<Messages>(operation).label);
  return names;
}

}  // namespace

TEST_CASE("a lane does one thing at a time, the most urgent first", "[lane]") {
  Poster poster;
  Lane lane(poster, by_exchange_0());
  lane.add({.size = Bytes{1}, .label = "a", .priority = 5});
  lane.add({.size = Bytes{1}, .label = "b", .priority = 9});
  lane.add({.size = Bytes{1}, .label = "c", .priority = 2});
  lane.add({.size = Bytes{1}, .label = "d", .priority = 2});
  CHECK(labels(poster.take()) == std::vector<std::string>{"a"});  // was alone
  std::vector<std::string> order;
  for (OperationId id = 0; id < 4; ++id) {
    poster.done(id);
    for (const auto& label : labels(poster.take())) order.push_back(label);
  }
  CHECK(order == std::vector<std::string>{"c", "d", "b"});
}

TEST_CASE("a lane of some width does as many things at a time", "[lane]") {
  Poster poster;
  Lane lane(poster, by_exchange_0(), Bytes{0}, 2);
  for (const char* label : {"a", "b", "c"}) lane.add({.size = Bytes{1}, .label = label});
  CHECK(labels(poster.take()) == std::vector<std::string>{"a", "b"});
  poster.done(1);
  CHECK(labels(poster.take()) == std::vector<std::string>{"c"});
}

TEST_CASE("what waits for a lane travels together up to its limit, and ends together", "[lane]") {
  Poster poster;
  Lane lane(poster, by_exchange_0(), Bytes{10});
  int ended = 0;
  const auto count = [&ended] { ++ended; };
  for (const std::int64_t size : {100, 4, 5, 3, 20}) {
    lane.add({.size = Bytes{size}, .label = "m", .then = count});
  }
  poster.done(0);
  CHECK(ended == 1);
  // 4 + 5 <= 10, with 3 more it would not be.
  auto posted = poster.take();
  REQUIRE(posted.size() == 2);
  CHECK(std::get<Messages>(posted[1]).size == Bytes{9});
  poster.done(1);
  CHECK(ended == 3);
  posted = poster.take();
  CHECK(std::get<Messages>(posted[0]).size == Bytes{3});  // 3 + 20 > 10
}

TEST_CASE("what follows from the end of an item may be the next on the lane", "[lane]") {
  Poster poster;
  Lane lane(poster, by_exchange_0());
  const auto urgent = [&lane] { lane.add({.size = Bytes{1}, .label = "urgent", .priority = -1}); };
  lane.add({.size = Bytes{1}, .label = "first", .then = urgent});
  lane.add({.size = Bytes{1}, .label = "second"});
  CHECK(labels(poster.take()) == std::vector<std::string>{"first"});
  poster.done(0);
  CHECK(labels(poster.take()) == std::vector<std::string>{"urgent"});
}

TEST_CASE("a window goes on before what follows the item that has ended", "[lane]") {
  Poster poster;
  Lane lane(poster, by_exchange_0(), Lane::Window{2});
  const auto follow = [&poster] { poster.post(Messages{.tensors = {}, .label = "what follows"}); };
  for (const char* label : {"a", "b", "c"}) {
    lane.add({.size = Bytes{1}, .label = label, .then = follow});
  }
  CHECK(labels(poster.take()) == std::vector<std::string>{"a", "b"});
  poster.done(0);
  CHECK(labels(poster.take()) == std::vector<std::string>{"c", "what follows"});
}

TEST_CASE("an item ends when what goes beside it has, too", "[lane]") {
  Poster poster;
  Lane lane(poster, by_exchange_0());
  lane.add({.size = Bytes{1}, .label = "a", .beside = {HostWork{.label = "call"}}});
  lane.add({.size = Bytes{1}, .label = "b"});
  REQUIRE(poster.take().size() == 2);  // the call's work, then the message
  poster.done(1);
  CHECK(poster.take().empty());
  poster.done(0);
  CHECK(labels(poster.take()) == std::vector<std::string>{"b"});
}
