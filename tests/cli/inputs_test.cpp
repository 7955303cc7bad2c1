#include "sim/cli/inputs.hpp"

#include "sim/cli/progress.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"

namespace gradwire::cli {
namespace {

std::vector<std::int64_t> counts(const std::string& text) {
  std::vector<std::int64_t> list;
  for (const Bytes size : parse_sizes(text)) list.push_back(size.count());
  return list;
}

TEST_CASE("Sizes are a geometric range, an arithmetic range or a list", "[cli][sizes]") {
  CHECK(counts("1KiB:8KiB:x2") == std::vector<std::int64_t>{1024, 2048, 4096, 8192});
  CHECK(counts("1kB:3kB:x2") == std::vector<std::int64_t>{1000, 2000});
  CHECK(counts("1MB:3MB:+1MB") == std::vector<std::int64_t>{1'000'000, 2'000'000, 3'000'000});
  CHECK(counts("4MiB,1 KiB") == std::vector<std::int64_t>{4'194'304, 1024});
  // Powers of two from 2^10 to 2^30
  CHECK(counts("1KiB:1GiB:x2").size() == 21);
  // The next size may be beyond any integer.
  CHECK(counts("1KiB:1GiB:x1e300") == std::vector<std::int64_t>{1024});
  // A factor that rounds to the same size still ends.
  CHECK(counts("1B:4B:x1.1") == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("Sizes without a unit, a step or a way up are refused", "[cli][sizes]") {
  const std::string bad =
      GENERATE("1024", "1KiB:1GiB", "1KiB:1GiB:2", "1KiB:1GiB:x1", "1GiB:1KiB:x2", "0B:1KiB:x2",
               "1KiB:1MiB:+1B", "", "1KiB:1GiB:xfast");
  CHECK_THROWS_AS(parse_sizes(bad), ConfigError);
}

TEST_CASE("Without a label the point with the most ranks is meant, the last of them",
          "[cli][point]") {
  std::vector<config::Scenario> points(3);
  points[0].label = "1M/8G";
  points[0].placement.resize(8);
  points[1].label = "2M/8G";
  points[1].placement.resize(16);
  points[2].label = "4M/4G";
  points[2].placement.resize(16);
  CHECK(choose_point(points, "", "x.yaml").label == "4M/4G");
  CHECK(choose_point(points, "1M/8G", "x.yaml").label == "1M/8G");
  CHECK_THROWS_WITH(choose_point(points, "2M/9G", "x.yaml"),
                    "x.yaml:1:1: no point has the label '2M/9G'; expected one of 1M/8G, 2M/8G, "
                    "4M/4G; did you mean '2M/8G'?");
  points[2].label = "2M/8G";
  CHECK_THROWS_WITH(choose_point(points, "2M/8G", "x.yaml"),
                    Catch::Contains("several points have the label '2M/8G'"));
}

TEST_CASE("The progress line tells rate and time left", "[cli][progress]") {
  CHECK(progress_text(0, 40, "parts", std::chrono::seconds(1)) == "0 of 40 parts");
  // 100 were there before: 2 a second, 36 to go
  CHECK(progress_text(104, 140, "points", std::chrono::seconds(2), 100) ==
        "104 of 140 points, 2.0/s, 0:18 left");
  // 4 in 2 s: 2/s; 136 more take 68 s
  CHECK(progress_text(4, 140, "points", std::chrono::seconds(2)) ==
        "4 of 140 points, 2.0/s, 1:08 left");
}

}  // namespace
}  // namespace gradwire::cli
