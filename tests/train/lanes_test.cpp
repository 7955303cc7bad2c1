#include "sim/train/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// From -1 to 1, of a lane's field.
double draw(std::uint64_t lane, std::uint64_t field) {
  return 2 * uniform(17, lane, field, 0) - 1;
}

/// Members before, at and behind item 3, some in its middle, some stopped, some with a kernel.
void scatter(Lanes& lanes, LaneBooks& books) {
  lanes.count = lanes_most;
  for (std::size_t m = 0; m < lanes_most; ++m) {
    lanes.now[m] = 10 + draw(m, 0);
    lanes.remaining[m] = draw(m, 1);
    lanes.item[m] = m % 4 == 0 ? 2 : m % 4 == 1 ? 4 : 3;
    lanes.start[m] = 9 + draw(m, 2);
    lanes.factor[m] = 1 + draw(m, 3) / 10;
    books.met[m] = draw(m, 4) > 0 ? 1 : 0;
    books.stopped[m] = draw(m, 5) > 0.8 ? 1 : 0;
  }
}

const WorkItem item{.position = 3,
                    .part = Part::backward,
                    .seconds = 0.5,
                    .launched = 1,
                    .device = true,
                    .slowing = 1.25,
                    .slowing_met = 2};

}  // namespace

TEST_CASE("members side by side pass an item as each would alone", "[lanes]") {
  const double limit = GENERATE(9.5, 10.5, std::numeric_limits<double>::infinity());
  Lanes all;
  LaneBooks books;
  scatter(all, books);
  std::vector<float> residuals(lanes_most);
  for (std::size_t m = 0; m < lanes_most; ++m) {
    residuals[m] = 1 + static_cast<float>(draw(m, 6)) / 5;
  }
  const Lanes before = all;
  const LaneBooks books_before = books;
  WorkItem varying = item;
  varying.residuals = residuals;
  const std::size_t going = pass_item(varying, limit, all, books);

  std::size_t left = 0;
  for (std::size_t m = 0; m < lanes_most; ++m) {
    double now = before.now[m];
    double remaining = before.remaining[m];
    double position = before.item[m];
    bool stops = books_before.stopped[m] != 0;
    double host = 0;
    double done = 0;
    double slowed = 0;
    if (position == 3 && !stops) {
      const bool is_new = remaining < 0;
      const double launched = before.start[m] + 1;
      if (is_new && launched > limit) {
        stops = true;
      } else {
        if (is_new && launched > now) host = launched - now;
        now += host;
        if (is_new) remaining = 0.5 * before.factor[m] * static_cast<double>(residuals[m]);
        const double slowing = books.met[m] != 0 ? 2 : 1.25;
        if (now + remaining * slowing <= limit) {
          done = remaining;
          now += remaining * slowing;
          remaining = -1;
          position = 4;
        } else {
          const double spent = std::max(0.0, limit - now);
          done = spent / slowing;
          now += spent;
          remaining -= done;
          stops = true;
        }
        slowed = done * (slowing - 1);
      }
    }
    CAPTURE(m);
    CHECK(all.now[m] == Approx(now).epsilon(1e-14));
    CHECK(all.remaining[m] == Approx(remaining).epsilon(1e-12).margin(1e-14));
    CHECK(all.item[m] == position);
    CHECK((books.stopped[m] != 0) == stops);
    CHECK(books.of(Part::host)[m] == Approx(host).margin(1e-14));
    CHECK(books.of(Part::backward)[m] == Approx(done).margin(1e-14));
    CHECK(books.of(Part::overlap_slowdown)[m] == Approx(slowed).margin(1e-14));
    left += stops ? 0 : 1;
  }
  CHECK(going == left);
}

TEST_CASE("who does not end an item works until the limit, late in a run as at its start",
          "[lanes]") {
  const double limit = GENERATE(1.0, 1e6);
  const auto [before, passes] = GENERATE(std::pair(0.25, false), std::pair(0.5 - 1e-13, true));
  Lanes lanes{.count = 1};
  LaneBooks books;
  lanes.now[0] = lanes.start[0] = limit - before;
  lanes.remaining[0] = -1;
  lanes.factor[0] = 1;
  pass_item({.seconds = 0.5}, limit, lanes, books);
  // Half a second from there ends past the limit; but for rounding, where `before` is half a
  // second.
  CHECK((lanes.item[0] == 1) == passes);
  CHECK(lanes.now[0] == (passes ? limit - before + 0.5 : limit));
  CHECK(lanes.remaining[0] == (passes ? -1 : 0.25));
}

TEST_CASE("a walk without a limit comes to where members pass without one", "[lanes]") {
  Lanes passing;
  LaneBooks books;
  scatter(passing, books);
  books.met.fill(0);
  books.stopped.fill(0);
  Lanes walking = passing;
  pass_item(item, std::numeric_limits<double>::infinity(), passing, books);
  walk_past(item, walking);
  CHECK(walking.now == passing.now);
  CHECK(walking.remaining == passing.remaining);
  CHECK(walking.item == passing.item);
}

TEST_CASE("members arrive at a collective once, when launched and behind the one before",
          "[lanes]") {
  Lanes lanes;
  LaneBooks books;
  scatter(lanes, books);
  const LaneBooks before = books;
  const Arrivals arrivals = arrive(3, 0.5, 9.75, false, lanes, books);
  std::size_t count = 0;
  double first = 1e9;
  double last = 0;
  for (std::size_t m = 0; m < lanes_most; ++m) {
    if (lanes.item[m] != 3 || before.met[m] != 0 || before.stopped[m] != 0) {
      CHECK(books.met[m] == before.met[m]);
      continue;
    }
    CHECK(books.met[m] == 1);
    ++count;
    const double time = std::max({lanes.now[m], lanes.start[m] + 0.5, 9.75});
    first = std::min(first, time);
    last = std::max(last, time);
  }
  CHECK(arrivals.count == count);
  CHECK(arrivals.first == first);
  CHECK(arrivals.last == last);
  CHECK(arrive(3, 0.5, 9.75, false, lanes, books).count == 0);
}

TEST_CASE("those that come to a collective are counted, with the first and the last", "[lanes]") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 7, 8, 13, 64);
  const bool stops = GENERATE(false, true);
  Lanes lanes;
  LaneBooks books;
  scatter(lanes, books);
  lanes.count = count;
  const LaneBooks before = books;
  const Arrivals arrivals = arrive(3, 0.5, 9.75, stops, lanes, books);

  Arrivals expected;
  for (std::size_t m = 0; m < count; ++m) {
    const bool comes = lanes.item[m] == 3 && before.stopped[m] == 0 && before.met[m] == 0;
    CHECK(books.met[m] == (comes ? 1 : before.met[m]));
    CHECK(books.stopped[m] == (comes && stops ? 1 : before.stopped[m]));
    if (!comes) continue;
    const double time = std::max({lanes.now[m], lanes.start[m] + 0.5, 9.75});
    ++expected.count;
    expected.first = std::min(expected.first, time);
    expected.last = std::max(expected.last, time);
  }
  CHECK(arrivals.count == expected.count);
  CHECK(arrivals.first == expected.first);
  CHECK(arrivals.last == expected.last);
}

/// Members at item 3 that none has begun, none stopped, all or none with a kernel.
void gather(std::size_t count, double met, Lanes& lanes, LaneBooks& books) {
  scatter(lanes, books);
  lanes.count = count;
  lanes.item.fill(3);
  lanes.remaining.fill(-1);
  books.met.fill(met);
  books.stopped.fill(0);
  for (std::size_t m = 0; m < count; ++m) lanes.start[m] = lanes.now[m] - 1 - draw(m, 2);
}

/// So many items from 3 on, each other than the one before it.
std::vector<WorkItem> run_of(std::size_t count, double slowing, double launched,
                             const std::vector<float>& residuals) {
  std::vector<WorkItem> items(count, item);
  for (std::size_t i = 0; i < count; ++i) {
    items[i].position = 3 + static_cast<double>(i);
    items[i].seconds = 0.5 + static_cast<double>(i) / 8;
    items[i].launched = launched * (1 + static_cast<double>(i) / 4);
    items[i].device = i % 3 != 1;
    if (i % 3 == 2) items[i].part = Part::copies;
    items[i].slowing = slowing;
    if (i % 2 == 0) items[i].residuals = residuals;
  }
  return items;
}

std::vector<float> residuals_of(std::size_t count) {
  std::vector<float> residuals(count);
  for (std::size_t m = 0; m < count; ++m) residuals[m] = 1 + static_cast<float>(draw(m, 6)) / 5;
  return residuals;
}

TEST_CASE("members that stand together pass items as if they stood apart", "[lanes]") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 7, 8, 13, 64);
  const std::size_t length = GENERATE(as<std::size_t>{}, 1, 2, 7, run_most);
  const double met = GENERATE(0.0, 1.0);
  const auto residuals = residuals_of(count);
  const auto items = run_of(length, GENERATE(1.0, 1.25), GENERATE(0.0, 1.0, 5.0), residuals);
  Lanes together;
  LaneBooks books;
  gather(count, met, together, books);
  Lanes apart = together;
  LaneBooks books_apart = books;
  const double limit = GENERATE(1000.0, std::numeric_limits<double>::infinity());
  CHECK(pass_run(items, limit, together, books) == length);
  for (const WorkItem& one : items) REQUIRE(pass_item(one, limit, apart, books_apart) == count);
  for (std::size_t m = 0; m < count; ++m) {
    CHECK(together.now[m] == apart.now[m]);
    CHECK(together.remaining[m] == apart.remaining[m]);
    CHECK(together.item[m] == apart.item[m]);
    CHECK(books.stopped[m] == 0);
    for (std::size_t part = 0; part < books.parts.size(); ++part) {
      CHECK(books.parts[part][m] == books_apart.parts[part][m]);
    }
  }
}

TEST_CASE("members pass items together up to the one that one of them does not end in time",
          "[lanes]") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 13, 64);
  const auto residuals = residuals_of(count);
  const auto items = run_of(run_most, 1.25, 1, residuals);
  const double limit = GENERATE(9.0, 12.0, 15.0, 20.0);
  Lanes together;
  LaneBooks books;
  gather(count, 0, together, books);
  Lanes apart = together;
  LaneBooks books_apart = books;
  const std::size_t passed = pass_run(items, limit, together, books);
  for (const WorkItem& one : items) pass_item(one, limit, apart, books_apart);
  const auto end = apart.item.begin() + static_cast<std::ptrdiff_t>(count);
  CHECK(3 + static_cast<double>(passed) == *std::min_element(apart.item.begin(), end));
  for (std::size_t m = 0; m < count; ++m) {
    CHECK(together.item[m] == 3 + static_cast<double>(passed));
  }
  // What is left of them is passed as if they had stood apart from the beginning.
  for (std::size_t i = passed; i < items.size(); ++i) {
    pass_item(items[i], limit, together, books);
  }
  CHECK(std::equal(apart.now.begin(), apart.now.begin() + static_cast<std::ptrdiff_t>(count),
                   together.now.begin()));
  CHECK(std::equal(apart.item.begin(), apart.item.begin() + static_cast<std::ptrdiff_t>(count),
                   together.item.begin()));
  for (std::size_t m = 0; m < count; ++m) {
    CHECK(together.remaining[m] == apart.remaining[m]);
    CHECK(books.of(Part::backward)[m] == books_apart.of(Part::backward)[m]);
    CHECK(books.of(Part::copies)[m] == books_apart.of(Part::copies)[m]);
    CHECK(books.of(Part::host)[m] == books_apart.of(Part::host)[m]);
  }
}

TEST_CASE("walks together come to where walks apart do", "[lanes]") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 13, 64);
  Lanes together;
  LaneBooks books;
  gather(count, 0, together, books);
  Lanes apart = together;
  const auto residuals = residuals_of(count);
  const auto items = run_of(5, 1.25, 1, residuals);
  walk_run(items, together);
  for (const WorkItem& one : items) walk_past(one, apart);
  double first = 100;
  double last = 0;
  for (std::size_t m = 0; m < count; ++m) {
    CHECK(together.now[m] == apart.now[m]);
    first = std::min(first, apart.now[m]);
    last = std::max(last, apart.now[m]);
  }
  CHECK(earliest_of(together) == first);
  CHECK(latest_of(together) == last);
}

TEST_CASE("all arrive together as each would where it stands", "[lanes]") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 7, 8, 13, 64);
  const bool stops = GENERATE(false, true);
  Lanes lanes;
  LaneBooks books;
  gather(count, 0, lanes, books);
  for (std::size_t m = 0; m < count; ++m) lanes.item[m] = 3 + static_cast<double>(m % 3);
  LaneBooks one_by_one = books;
  const Arrivals all = arrive_together(0.5, 9.75, stops, lanes, books);
  Arrivals sum;
  for (const double position : {3.0, 4.0, 5.0}) {
    const Arrivals some = arrive(position, 0.5, 9.75, stops, lanes, one_by_one);
    sum.count += some.count;
    sum.first = std::min(sum.first, some.first);
    sum.last = std::max(sum.last, some.last);
  }
  CHECK(all.count == sum.count);
  CHECK(all.first == sum.first);
  CHECK(all.last == sum.last);
  for (std::size_t m = 0; m < count; ++m) {
    CHECK(books.met[m] == one_by_one.met[m]);
    CHECK(books.stopped[m] == one_by_one.stopped[m]);
  }
}
