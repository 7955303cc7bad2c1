#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "sim/core/result.hpp"

namespace gradwire {

/// Most members that stand side by side.
constexpr std::size_t lanes_most = 64;
/// Most items that are passed as one run.
constexpr std::size_t run_most = 32;
/// A figure of each.
using LaneArray = std::array<double, lanes_most>;

/// Some members of one kind. They pass the items of their stream side by side, each field an array,
/// so that a compiler makes vectors of them: those that are not at an item stay as they are.
struct Lanes {
  std::size_t count = 0;
  LaneArray now{};        ///< their clocks, seconds
  LaneArray remaining{};  ///< nominal seconds left of the present item, < 0: not begun
  LaneArray item{};       ///< position of the present one
  LaneArray start{};      ///< of the iteration, seconds
  LaneArray factor{};     ///< times as long as nominal that each one's GPU takes
};

/// What else is known of members that are run on, and not only walked ahead.
struct LaneBooks {
  LaneArray met{};      ///< 1: a communication kernel is on the GPU; 0: none
  LaneArray stopped{};  ///< 1: goes no further by now
  std::array<LaneArray, std::tuple_size_v<Breakdown>> parts{};  ///< seconds since the start

  [[nodiscard]] LaneArray& of(Part part) { return parts[static_cast<std::size_t>(part)]; }
};

/// An item of work, as members of a kind pass it.
struct WorkItem {
  double position = 0;  ///< on the stream
  Part part = Part::other;
  double seconds = 0;                  ///< nominal
  double launched = 0;                 ///< host seconds since each one's start
  bool device = true;                  ///< takes `factor` as long
  double slowing = 1;                  ///< times as long with nothing of a collective on the GPU
  double slowing_met = 1;              ///< with a communication kernel there
  std::span<const float> residuals{};  ///< factors of each; empty: all are 1
};

/// The latest time that is this one, after sums in another order.
[[nodiscard]] inline double about(double time) {
  return time + 1e-12 * std::max(1.0, time);
}

/// Those that stand at the item and are not stopped pass it, if they end it about by `limit`, or do
/// as much of it as they can by then and are stopped. Nobody does more: what slows items from then
/// on would not slow that, by the more the later it is. @return how many are not stopped.
std::size_t pass_item(const WorkItem& item, double limit, Lanes& lanes, LaneBooks& books);

/// As pass_item() of these items one after the other, up to the first that one of the members does
/// not end whole about by `limit`. REQUIRES: all stand at the first, none has begun it or is
/// stopped, all or none have a communication kernel, nobody's clock is before its start; the items
/// follow each other and are of two parts at most, neither `host` nor `overlap_slowdown`.
/// @return how many all have passed.
std::size_t pass_run(std::span<const WorkItem> items, double limit, Lanes& lanes, LaneBooks& books);

/// When members came to a collective.
struct Arrivals {
  std::size_t count = 0;
  double first = std::numeric_limits<double>::infinity();
  double last = 0;
};

/// Those that stand at `position`, are not stopped and have no communication kernel on their GPU
/// start one, when their host has launched it, `launched` seconds from its start, and not before
/// `earliest`. @param stops  they go no further.
Arrivals arrive(double position, double launched, double earliest, bool stops, const Lanes& lanes,
                LaneBooks& books);

/// The same of all, wherever they stand. REQUIRES: none has a kernel.
Arrivals arrive_together(double launched, double earliest, bool stops, const Lanes& lanes,
                         LaneBooks& books);

/// As pass_item(), with neither a limit nor books, slowed by `slowing`.
void walk_past(const WorkItem& item, Lanes& lanes);

/// The same of clocks alone past items that follow each other, where all stand at the first and
/// none has begun it.
void walk_run(std::span<const WorkItem> items, Lanes& lanes);

/// The latest of their clocks; 0 of none.
[[nodiscard]] double latest_of(const Lanes& lanes);
/// The earliest of them; infinity of none.
[[nodiscard]] double earliest_of(const Lanes& lanes);

}  // namespace gradwire
