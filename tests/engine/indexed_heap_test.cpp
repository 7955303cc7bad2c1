#include "sim/engine/indexed_heap.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "sim/core/random.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("of equal times the lower number is first", "[engine][heap]") {
  IndexedHeap heap;
  for (const IndexedHeap::Id id : {7U, 3U, 5U}) heap.set(id, 1.5);
  CHECK(heap.front().id == 3);
  heap.set(3, 2.5);
  CHECK(heap.front().id == 5);
  heap.erase(5);
  CHECK(heap.front().id == 7);
  CHECK_FALSE(heap.contains(5));
  heap.clear();
  CHECK(heap.empty());
  CHECK_FALSE(heap.contains(7));
}

TEST_CASE("the first is that of a sorted set whatever is put in, moved and taken out",
          "[engine][heap]") {
  constexpr std::uint64_t seed = 1;
  constexpr std::uint64_t numbers = 50;
  IndexedHeap heap;
  std::set<std::pair<double, IndexedHeap::Id>> sorted;
  std::map<IndexedHeap::Id, double> times;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    const auto id = static_cast<IndexedHeap::Id>(uniform(seed, step, 0, 0) * numbers);
    if (times.contains(id)) sorted.erase({times[id], id});
    times.erase(id);
    if (uniform(seed, step, 1, 0) < 0.3) {
      heap.erase(id);
    } else {
      // Of 16 times: many are equal.
      const double time = static_cast<int>(16 * uniform(seed, step, 2, 0));
      heap.set(id, time);
      times[id] = time;
      sorted.emplace(time, id);
    }
    REQUIRE(heap.empty() == sorted.empty());
    if (sorted.empty()) continue;
    REQUIRE(heap.front().time == sorted.begin()->first);
    REQUIRE(heap.front().id == sorted.begin()->second);
  }
}
