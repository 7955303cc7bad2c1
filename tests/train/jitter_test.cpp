#include "sim/train/jitter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

ComputeProfile two_layers(double stdev) {
  ComputeProfile profile;
  profile.layers.resize(2);
  for (auto& layer : profile.layers) layer.stdev = stdev;
  return profile;
}

}  // namespace

TEST_CASE("without jitter all ranks share one clock", "[jitter]") {
  const auto members = make_members(Placement(4096), {}, {}, two_layers(0), 1);
  REQUIRE(members.size() == 1);
  CHECK(members[0].count == 4096);
}

TEST_CASE("a straggler is a group of its own and nobody else is touched", "[jitter]") {
  const auto members = make_members(
      Placement(8), {}, {{.ranks = {3}, .fraction = 0, .compute = 1.5}}, two_layers(0), 1);
  REQUIRE(members.size() == 2);
  CHECK(members[0].count == 7);
  CHECK(members[1].rank == 3);
  CHECK(members[1].speed == 1.5);
}

TEST_CASE("no straggler is a fraction of 0", "[jitter]") {
  const auto members = make_members(Placement(10), {}, {{.ranks = {}, .fraction = 0, .compute = 2}},
                                    two_layers(0), 1);
  REQUIRE(members.size() == 1);
  CHECK(members[0].speed == 1);
}

TEST_CASE("a fraction of stragglers is at least one rank", "[jitter]") {
  const auto members = make_members(
      Placement(10), {}, {{.ranks = {}, .fraction = 0.25, .compute = 2}}, two_layers(0), 1);
  // 10 * 0.25 rounds to 3 (half away from zero).
  CHECK(std::count_if(members.begin(), members.end(), [](auto& m) { return m.speed == 2; }) == 1);
  CHECK(std::find_if(members.begin(), members.end(), [](auto& m) { return m.speed == 2; })->count ==
        3);
}

TEST_CASE("the static spread is that of expected order statistics", "[jitter]") {
  const auto members = make_members(Placement(16), {.rank = 0.015}, {}, two_layers(0), 1);
  REQUIRE(members.size() == 16);
  double slowest = 0;
  double sum = 0;
  for (const auto& member : members) {
    slowest = std::max(slowest, member.speed);
    sum += member.speed;
  }
  // Blom: the 16th of 16 lies at the quantile of (16 - 0.375) / 16.25.
  CHECK(slowest == Approx(1 + 0.015 * normal_quantile(15.625 / 16.25)));
  CHECK(sum == Approx(16));  // symmetric about 1
  CHECK(make_members(Placement(1), {.rank = 0.015}, {}, two_layers(0), 1)[0].speed == Approx(1));
}

TEST_CASE("ranks that share a machine take longer, one by itself does not", "[jitter]") {
  const Placement placement = {{0, 0}, {1, 0}, {1, 1}};
  const auto members = make_members(placement, {.several_gpus = 0.25}, {}, two_layers(0), 1);
  REQUIRE(members.size() == 2);
  CHECK(members[0].speed == 1);
  CHECK(members[1].speed == 1.25);
  CHECK(members[1].count == 2);
}

TEST_CASE("starts are spread over the period, one in each part of it", "[jitter]") {
  auto members = std::vector<MemberGroup>(5);
  spread_starts(members, 10, 3);
  std::vector<double> starts;
  for (const auto& member : members) starts.push_back(member.start);
  CHECK_FALSE(std::is_sorted(starts.begin(), starts.end()));  // with this seed
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    CHECK(std::floor(starts[i] / 2) == static_cast<double>(i));
  }
}

TEST_CASE("draws depend on seed, iteration, rank and layer, not on who else is there", "[jitter]") {
  const auto profile = two_layers(0.01);
  IterationDraws few({.rank = 0, .iteration = 0.02}, profile, 5);
  IterationDraws many({.rank = 0, .iteration = 0.02}, profile, 5);
  few.draw(3, {{9, 1, 1.0}});
  many.draw(3, {{8, 1, 1.0}, {9, 1, 1.5}});
  CHECK(few.iteration_factor(0) == many.iteration_factor(1));
  CHECK(few.layer_factor(0, 1) == many.layer_factor(1, 1));
  CHECK(few.layer_factor(0, 0) != few.layer_factor(0, 1));
  const double before = few.iteration_factor(0);
  few.draw(4, {{9, 1, 1.0}});
  CHECK(few.iteration_factor(0) != before);
}

TEST_CASE("members stand beside those that take about as long, and draw what they draw elsewhere",
          "[jitter]") {
  const auto profile = two_layers(0.01);
  constexpr std::size_t count = 1000;
  constexpr std::size_t kind = 300;  // so many of the first have other inputs
  std::vector<MemberGroup> members(count);
  for (std::size_t m = 0; m < count; ++m) {
    members[m].rank = static_cast<int>(m);
    if (m < kind) members[m].inputs = 5;
  }
  IterationDraws draws({.rank = 0, .iteration = 0.02}, profile, 5);
  draws.draw(3, members);
  std::vector<std::uint32_t> seated(draws.order().begin(), draws.order().end());
  // Buckets are 1 / (n / 4) of the range of n: nobody is further out of order than that.
  const auto factor = [&](std::size_t place) { return draws.iteration_factor(seated[place]); };
  for (const auto& [first, last] : {std::pair(std::size_t{0}, kind), std::pair(kind, count)}) {
    double most = 0;
    double least = 10;
    for (std::size_t place = first; place < last; ++place) {
      most = std::max(most, factor(place));
      least = std::min(least, factor(place));
      CHECK((seated[place] < kind) == (place < kind));
    }
    const double bucket = (most - least) / (static_cast<double>(last - first) / 4);
    for (std::size_t place = first + 1; place < last; ++place) {
      CHECK(factor(place) > factor(place - 1) - bucket * (1 + 1e-9));
    }
  }
  std::ranges::sort(seated);
  for (std::size_t m = 0; m < count; ++m) CHECK(seated[m] == m);
  IterationDraws alone({.rank = 0, .iteration = 0.02}, profile, 5);
  for (const std::size_t m : {std::size_t{0}, std::size_t{299}, std::size_t{640}, count - 1}) {
    alone.draw(3, {members[m]});
    CHECK(draws.layer_factor(m, 1) == alone.layer_factor(0, 1));
  }
}

TEST_CASE("messages take their mean time on the average, with the spread asked for", "[jitter]") {
  const MessageDraws draws(0.47, 1);
  double sum = 0;
  double squares = 0;
  constexpr int count = 40'000;
  for (int iteration = 0; iteration < count; ++iteration) {
    const double stretch = draws.stretch(iteration, 7);
    sum += stretch;
    squares += stretch * stretch;
  }
  // Standard errors: 0.47 / 200 of the mean.
  CHECK(sum / count == Approx(1).margin(4 * 0.47 / 200));
  CHECK(std::sqrt(squares / count - std::pow(sum / count, 2)) == Approx(0.47).epsilon(0.05));
  CHECK(MessageDraws(0, 1).stretch(3, 7) == 1);
}
