#include "sim/train/doubts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// Made up, each another.
constexpr DoubtWidths widths{.several_gpus = {0.05, 0.14},
                             .machines = {0.04, 0.07},
                             .exposed_tcp = {0.56, 0.10},
                             .exposed = {0.60, 1.30},
                             .hidden_tcp = {0, 2.70},
                             .hidden = {0, 0.42},
                             .ports = {0, 1.10},
                             .host = {0.50, 0}};

/// 100 ms, of which 60 compute, 30 exposed communication, as much behind compute, and 10 the host.
RunResult run_of(int ranks) {
  RunResult result;
  result.world_size = ranks;
  const auto set = [&](Part part, double seconds) {
    result.breakdown[static_cast<std::size_t>(part)] = seconds;
  };
  set(Part::forward, 0.02);
  set(Part::backward, 0.04);
  set(Part::exposed_communication, 0.03);
  set(Part::host, 0.01);
  result.communication_busy_s = 0.06;
  result.overlap_fraction = 0.5;
  return result;
}

const Doubt* find(const std::vector<Doubt>& doubts, const std::string& name) {
  const auto found = std::ranges::find(doubts, name, &Doubt::name);
  return found == doubts.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("One GPU is doubted for its profile and its jitter alone", "[train][doubts]") {
  RunResult result = run_of(1);
  result.breakdown[static_cast<std::size_t>(Part::exposed_communication)] = 0;
  const auto doubts = doubts_of(
      result, {.profile = {0.1, 0.1}, .p5 = 0.95, .p50 = 1, .p95 = 1.2, .widths = widths});
  REQUIRE(doubts.size() == 2);
  CHECK(doubts[0].name == "spread");  // the widest first
  CHECK(together(doubts, &Doubt::low) == Approx(std::hypot(0.05, 0.1)));
  CHECK(together(doubts, &Doubt::high) == Approx(std::hypot(0.2, 0.1)));
}

TEST_CASE("Iterations that differ by rounding leave no doubt of their spread", "[train][doubts]") {
  DoubtFacts facts;
  facts.p5 = 0.1;
  facts.p50 = std::nextafter(0.1, 1);
  facts.p95 = std::nextafter(facts.p50, 1);
  CHECK(find(doubts_of(run_of(1), facts), "spread") == nullptr);
  facts.p95 = 0.11;
  CHECK(find(doubts_of(run_of(1), facts), "spread") != nullptr);
}

TEST_CASE("Each doubt is of its own share of the iteration", "[train][doubts]") {
  const DoubtFacts facts{.profile = {0.1, 0.1},
                         .p5 = 1,
                         .p50 = 1,
                         .p95 = 1,
                         .machines = 8,
                         .over_tcp = true,
                         .widths = widths};
  const auto doubts = doubts_of(run_of(32), facts);
  CHECK(find(doubts, "spread") == nullptr);
  CHECK(find(doubts, "profile")->high == Approx(0.1 * 0.7));  // all but what is exposed
  CHECK(find(doubts, "several_gpus")->high == Approx(0.14));
  CHECK(find(doubts, "several_gpus")->low == Approx(0.05));
  CHECK(find(doubts, "machines")->high == Approx(std::sqrt(3.0) * 0.07));  // three doublings
  CHECK(find(doubts, "communication")->high == Approx(0.10 * 0.3));
  CHECK(find(doubts, "communication")->low == Approx(0.56 * 0.3));
  CHECK(find(doubts, "hidden_communication")->high == Approx(2.7 * 0.3));
  CHECK(find(doubts, "hidden_communication")->low == 0);
  CHECK(find(doubts, "host")->low == Approx(0.50 * 0.1));
  CHECK(find(doubts, "ports") == nullptr);
}

TEST_CASE("Where ports are assumed all communication is doubted, hidden or not",
          "[train][doubts]") {
  const DoubtFacts facts{
      .profile = {}, .p5 = 1, .p50 = 1, .p95 = 1, .ports_assumed = true, .widths = widths};
  const auto doubts = doubts_of(run_of(32), facts);
  CHECK(find(doubts, "ports")->high == Approx(1.10 * (0.3 + 0.3)));
  CHECK(find(doubts, "ports")->width == "ports");
  CHECK(find(doubts, "communication")->high == Approx(1.30 * 0.3));  // beside what is stated
}

TEST_CASE("More machines, slower links and a worse profile widen an interval", "[train][doubts]") {
  const auto high = [](int machines, double profile, bool over_tcp) {
    const DoubtFacts facts{.profile = {profile, profile},
                           .p5 = 1,
                           .p50 = 1,
                           .p95 = 1,
                           .machines = machines,
                           .over_tcp = over_tcp,
                           .widths = widths};
    return together(doubts_of(run_of(8 * machines), facts), &Doubt::high);
  };
  CHECK(high(128, 0.03, false) > high(2, 0.03, false));
  CHECK(high(2, 0.2, false) > high(2, 0.03, false));
  CHECK(high(2, 0.03, true) > high(2, 0.03, false));
}

}  // namespace gradwire
