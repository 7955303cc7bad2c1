#include "sim/engine/event_queue.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

TEST_CASE("Events run in order of time, then priority, then posting", "[engine][events]") {
  EventQueue queue;
  std::string order;
  const auto note = [&](char name) { return [&order, name] { order += name; }; };
  queue.post(Seconds{2}, 0, note('e'));
  queue.post(Seconds{1}, 5, note('d'));
  queue.post(Seconds{1}, 0, note('b'));
  queue.post(Seconds{1}, -3, note('a'));
  queue.post(Seconds{1}, 0, note('c'));
  CHECK_FALSE(queue.due());
  queue.advance_to(Seconds{1});
  while (queue.due()) queue.run_next();
  CHECK(order == "abcd");
  CHECK(queue.next_time() == Seconds{2});
  queue.advance_to(Seconds{2});
  queue.run_next();
  CHECK(order == "abcde");
  CHECK(queue.empty());
}

TEST_CASE("An event may post others, at its own time too", "[engine][events]") {
  EventQueue queue;
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs < 1000) queue.post(queue.now(), 0, again);
  };
  queue.post(Seconds{}, 0, again);
  while (queue.due()) queue.run_next();
  CHECK(runs == 1000);
}

TEST_CASE("The network's events come first, whatever was posted before", "[engine][events]") {
  EventQueue queue;
  queue.post(Seconds{}, EventQueue::network_priority + 1, [] {});
  CHECK_FALSE(queue.network_due());
  queue.post(Seconds{}, EventQueue::network_priority, [] {});
  CHECK(queue.network_due());
}

TEST_CASE("What an action needs goes where it goes, and is dropped once, large or small",
          "[engine][events]") {
  auto held = std::make_shared<int>(0);
  const auto check = [&held](auto act) {
    {
      Action action(std::move(act));
      Action moved(std::move(action));
      Action assigned([] {});
      assigned = std::move(moved);
      CHECK(held.use_count() == 2);
      assigned();
    }
    CHECK(held.use_count() == 1);
  };
  check([held] { ++*held; });
  check([held, room = std::array<std::byte, 2 * Action::inline_bytes>()] {
    *held += static_cast<int>(room.size());
  });
  CHECK(*held == 1 + static_cast<int>(2 * Action::inline_bytes));
}

}  // namespace
}  // namespace gradwire
