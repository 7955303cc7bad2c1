#include "sim/engine/route_classes.hpp"

#include <algorithm>
#include <cstdint>

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
