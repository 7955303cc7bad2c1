#include "sim/train/operation_log.hpp"
#include "sim/train/busy_time.hpp"

#include "tests/catch.hpp"

namespace gradwire {
namespace {

TEST_CASE("What has ended before every clock is forgotten, and has still ended", "[train][log]") {
  OperationLog log;
  BusyTime moving;
  for (int i = 0; i < 100'000; ++i) {
    const OperationId id = log.add("label");
    CHECK(id == i);
    if (i % 2 == 1) log.end(id - 1, i);
    moving.begin(i);
    moving.end(i, i + 0.5);
  }
  // Of two, the second has not ended: nothing behind the first such one can go.
  log.forget_until(1e9);
  moving.forget_before(1e9);
  CHECK(log.ended(0));
  CHECK_FALSE(log.ended(1));
  for (int i = 1; i < 90'000; i += 2) log.end(i, 100'001);
  log.forget_until(100'000);
  CHECK(log.end_of(1) == 100'001);
  log.forget_until(100'001);
  CHECK(log.ended(1));
  CHECK(log.end_of(1) == 0);
  CHECK(log.label(1).empty());
  CHECK(log.label(90'001) == "label");
  CHECK_FALSE(log.ended(90'001));
  CHECK(log.next() == 100'000);
  CHECK(moving.until(200'000) == Approx(50'000));
}

TEST_CASE("It is worth forgetting when as much came as was kept", "[train][log]") {
  OperationLog log;
  int calls = 0;
  for (int i = 0; i < 100'000; ++i) {
    log.end(log.add(), i);
    if (!log.has_grown()) continue;
    log.forget_until(i);
    ++calls;
  }
  // Everything had ended: each time the least that is worth it, 4096.
  CHECK(calls == 100'000 / 4096);
}

TEST_CASE("Time that something was open in is not forgotten", "[train][log]") {
  BusyTime busy;
  busy.begin(1);  // until 20
  busy.begin(2);
  busy.end(2, 3);
  busy.begin(5);
  busy.end(5, 6);
  busy.forget_before(10);
  CHECK(busy.overlap(8, 12) == Approx(4));
  busy.end(1, 20);
  // [2, 3] and [5, 6] lie in [1, 20]: they do not count twice.
  CHECK(busy.until(20) == Approx(19));
  busy.begin(30);
  busy.end(30, 31);
  busy.forget_before(25);
  CHECK(busy.overlap(25, 40) == Approx(1));
  CHECK(busy.until(40) == Approx(20));
}

}  // namespace
}  // namespace gradwire
