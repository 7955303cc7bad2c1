#include "sim/engine/flow_ways.hpp"

#include <algorithm>
#include <cstdint>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// A machine's memory (24) carries copies of 6 at most, two at a time, and what passes its bridge
/// (12): other copies, and what a narrow port (7) sends to either of two others.
FlowProblem machine(double memory) {
  return {{memory, 12, 7, 6, 5, 5},
          {{{0, 2}, {3, 1}},
           {{0, 1}, {1, 1}},
           {{0, 1}, {1, 1}, {2, 1}, {4, 1}},
           {{0, 1}, {1, 1}, {2, 1}, {5, 1}}}};
}

bool takes_part(const FlowWays& ways, std::uint32_t row) {
  return std::ranges::find(ways.uses, row, &RowUse::row) != ways.uses.end();
}

}  // namespace

TEST_CASE("A row that others keep from being full takes no part", "[engine][fair]") {
  // Through the bridge 12, beside it 2 * 6: 24 in all. By each column's narrowest row it would be
  // 2 * 6 + 12 + 5 + 5.
  CHECK(!takes_part(FlowWays(machine(24)), 0));
  CHECK(takes_part(FlowWays(machine(23)), 0));
  // The bridge itself may be: its copies pass nothing narrower.
  CHECK(takes_part(FlowWays(machine(24)), 1));
}
