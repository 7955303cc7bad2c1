#include "sim/engine/lagging_share.hpp"

#include <array>
#include <cmath>

#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("A share that nothing changes stays the whole", "[engine][lagging-share]") {
  LaggingShare share(12);
  CHECK(share.is_level());
  CHECK(share.next(1, 1) == 12);
  CHECK(share.is_level());
}

TEST_CASE("One that lasts is given after a window, and after another one it is level",
          "[engine][lagging-share]") {
  LaggingShare share(12);
  share.change(0, 6);
  CHECK(share.share() == 6);
  // 6 bytes too many in the first window.
  CHECK(share.next(1, 1) == 6);
  CHECK(!share.is_level());
  CHECK(share.next(2, 1) == 6);
  CHECK(share.is_level());
}

TEST_CASE("Over many windows others have what short copies leave them, by shares that there were",
          "[engine][lagging-share]") {
  // A copy of a tenth, a third, or two thirds of each window leaves 6 of 12.
  for (const double copied : {0.1, 1.0 / 3, 2.0 / 3}) {
    LaggingShare share(12);
    double given = 12;
    double sum = 0;
    constexpr int windows = 300;
    for (int window = 0; window < windows; ++window) {
      share.change(window, 6);
      share.change(window + copied, 12);
      sum += given;
      given = share.next(window + 1, 1);
      CHECK((given == 6 || given == 12));
    }
    // Within one window's worth.
    CHECK(std::abs(sum - windows * (12 - 6 * copied)) <= 6);
  }
}

TEST_CASE("What was given too much is made up for when copies are gone, unless forgotten",
          "[engine][lagging-share]") {
  for (const bool forgets : {false, true}) {
    LaggingShare share(12);
    // A fifth of a window, and another if the next one is as this: nearer to none than to one. With
    // what is owed from the first copy, three fifths: nearer to one.
    std::array<double, 2> given{};
    for (int copy = 0; copy < 2; ++copy) {
      share.change(10 * copy, 6);
      share.change(10 * copy + 0.2, 12);
      given.at(static_cast<std::size_t>(copy)) = share.next(10 * copy + 1, 1);
      if (forgets) share.forget();
    }
    CHECK(given[0] == 12);
    CHECK(given[1] == (forgets ? 12 : 6));
  }
}
