#include "sim/train/busy_time.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sim/train/lane_set.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// Length of the union of intervals of whole numbers, cut to [from, to].
double union_length(const std::vector<std::pair<int, int>>& intervals, int from, int to) {
  int length = 0;
  for (int at = from; at < to; ++at) {
    length += std::ranges::any_of(
        intervals, [at](const auto& one) { return one.first <= at && at < one.second; });
  }
  return length;
}

}  // namespace

TEST_CASE("busy time is the length of the union, of what has ended and what has not",
          "[train][busy]") {
  constexpr int end = 60;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    BusyTime busy;
    std::vector<std::pair<int, int>> all;  // by end; what has not ended ends at the end
    std::multiset<int> open;
    for (int now = 0; now < end; ++now) {
      for (auto more = random() % 3; more > 0; --more) {
        const int start = now + static_cast<int>(random() % 3);
        busy.begin(start);
        open.insert(start);
      }
      while (!open.empty() && random() % 2 == 0) {
        auto one = open.begin();
        std::advance(one, static_cast<int>(random() % open.size()));
        if (*one > now) break;
        busy.end(*one, now);
        all.emplace_back(*one, now);
        open.erase(one);
      }
      auto with_open = all;
      for (const int start : open) with_open.emplace_back(start, end);
      const int from = static_cast<int>(random() % static_cast<unsigned>(now + 1));
      CHECK(busy.overlap(from, now) == union_length(with_open, from, now));
      CHECK(busy.until(now) == union_length(with_open, 0, now));
    }
  }
}

TEST_CASE("a set of lanes finds the next as a sorted set does", "[train][lanes]") {
  std::mt19937 random(1);
  constexpr std::size_t lanes = 200;
  LaneSet set(lanes);
  std::set<std::size_t> sorted;
  for (int step = 0; step < 2000; ++step) {
    const std::size_t lane = random() % lanes;
    if (random() % 3 == 0) {
      set.insert(lane);
      sorted.insert(lane);
    } else {
      set.erase(lane);
      sorted.erase(lane);
    }
    const std::size_t from = random() % (lanes + 1);
    const auto next = sorted.lower_bound(from);
    CHECK(set.contains(lane) == sorted.contains(lane));
    CHECK(set.first_from(from).value_or(lanes) == (next == sorted.end() ? lanes : *next));
  }
}
