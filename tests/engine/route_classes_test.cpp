#include "sim/engine/route_classes.hpp"

#include <algorithm>
#include <cstdint>

#include "sim/engine/fair_rates.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// A machine's memory (24) carries what passes a bridge (12): copies, and what a narrow port (7)
/// sends to either of two others; and what passes another (12): copies, and what that one sends to
/// the port.
FlowProblem machine(double memory) {
  return {{memory, 12, 7, 12, 5, 5},
          {{{0, 1}, {1, 1}},
           {{0, 1}, {1, 1}, {2, 1}, {4, 1}},
           {{0, 1}, {1, 1}, {2, 1}, {5, 1}},
           {{0, 1}, {3, 1}},
           {{0, 1}, {2, 1}, {3, 1}}}};
}

/// Copies (0) and a NIC's messages to two others (1, 2) pass a bridge (12), the messages its port
/// (7) behind it.
FlowProblem bridge_and_port() {
  return {
      .capacity = {12, 7, 5, 5},
      .columns = {{{0, 1}}, {{0, 1}, {1, 1}, {2, 1}}, {{0, 1}, {1, 1}, {3, 1}}, {{2, 1}}, {{3, 1}}},
      .copies = {true, false, false, false, false}};
}

bool takes_part(const RouteClasses& routes, std::uint32_t row) {
  return std::ranges::find(routes.uses, row, &RowUse::row) != routes.uses.end();
}

}  // namespace

TEST_CASE("A row that others keep from being full takes no part", "[engine][fair]") {
  // 12 + 12 through the bridges. By each column's narrowest row 12 + 5 + 5 + 12 + 7.
  CHECK(!takes_part(RouteClasses(machine(24)), 0));
  CHECK(takes_part(RouteClasses(machine(23)), 0));
  // A bridge itself may be: its copies pass nothing narrower.
  CHECK(takes_part(RouteClasses(machine(24)), 1));
}

TEST_CASE("A row of turns stands for those in series with it, which no copies pass",
          "[engine][fair][ports]") {
  const RouteClasses routes(bridge_and_port());
  CHECK(!takes_part(routes, 1));
  REQUIRE(routes.turns.size() == 1);
  CHECK(routes.turns.front().capacity == 12);
  CHECK(routes.turns.front().most == 7);
  CHECK(routes.capacity[routes.turns.front().others] == 7);

  FlowProblem shared = bridge_and_port();  // the port, with another
  shared.columns[3].push_back({1, 1});
  CHECK(takes_part(RouteClasses(shared), 1));
  FlowProblem twice = bridge_and_port();
  twice.columns[1][1].weight = 2;
  CHECK(takes_part(RouteClasses(twice), 1));
}

TEST_CASE("Messages through rows in series have the narrowest one's rates beside copies",
          "[engine][fair][ports]") {
  FairRates rates(bridge_and_port(), 0);
  const auto message = rates.add(1, Transport::no_cap);
  rates.add(2, Transport::no_cap);
  rates.update();
  CHECK(rates.rate(message) == Approx(7.0 / 2));
  // A copy of 4 leaves their port 8 of 12, of which they take 7.
  const auto slow = rates.add(0, 4);
  rates.update();
  CHECK(rates.rate(message) == Approx(7.0 / 2));
  CHECK(rates.rate(slow) == Approx(4));
  // One of any rate leaves it half of the bridge.
  rates.remove(slow);
  const auto fast = rates.add(0, Transport::no_cap);
  rates.update();
  CHECK(rates.rate(message) == Approx(6.0 / 2));
  CHECK(rates.rate(fast) == Approx(6));
  rates.remove(fast);
  rates.update();
  CHECK(rates.rate(message) == Approx(7.0 / 2));
}
