#include "sim/train/lanes.hpp"

#include <algorithm>

#include "sim/core/wide_vectors.hpp"

namespace gradwire {
namespace {

constexpr double nowhere = -1;
constexpr double never = std::numeric_limits<double>::infinity();  // later than any limit

/// As std::max, by value: no branch.
inline double larger(double a, double b) {
  return a < b ? b : a;
}

/// As std::min.
inline double smaller(double a, double b) {
  return b < a ? b : a;
}

/// One of two, by value: no branch either.
inline double choose(bool first, double a, double b) {
  return first ? a : b;
}

/// What the item takes on each with nothing beside it.
inline void take(const WorkItem& item, const Lanes& lanes, LaneArray& seconds) {
  const double nominal = item.seconds;
  const std::span<const float> residuals = item.residuals;
  const std::size_t count = lanes.count;
  const float* residual = residuals.data();
  if (item.device && !residuals.empty()) {
    for (std::size_t m = 0; m < count; ++m) {
      seconds[m] = nominal * lanes.factor[m] * static_cast<double>(residual[m]);
    }
  } else if (item.device) {
    for (std::size_t m = 0; m < count; ++m) seconds[m] = nominal * lanes.factor[m];
  } else if (!residuals.empty()) {
    for (std::size_t m = 0; m < count; ++m) seconds[m] = nominal * static_cast<double>(residual[m]);
  } else {
    for (std::size_t m = 0; m < count; ++m) seconds[m] = nominal;
  }
}

constexpr std::size_t width = 8;  // doubles of the widest vectors

/// The least of the figures, or the most. A vector's width is compared at once: for one after the
/// other a compiler makes no vectors. Those behind `count` are written over.
/// @param nothing  what no figure goes beyond.
template <double better(double, double)>
inline double best(LaneArray& figures, std::size_t count, double nothing) {
  const std::size_t whole = (count + width - 1) / width * width;
  for (std::size_t m = count; m < whole; ++m) figures[m] = nothing;
  std::array<double, width> found;
  found.fill(nothing);
  for (std::size_t m = 0; m < whole; m += width) {
    for (std::size_t k = 0; k < width; ++k) found[k] = better(found[k], figures[m + k]);
  }
  double result = nothing;
  for (const double figure : found) result = better(result, figure);
  return result;
}

}  // namespace

// In the loops all is read and reckoned before anything is chosen: vectors have no branches.

GRADWIRE_WIDE_VECTORS
std::size_t pass_item(const WorkItem& item, double limit, Lanes& lanes, LaneBooks& books) {
  LaneArray seconds;
  take(item, lanes, seconds);
  const WorkItem at = item;
  limit = std::min(limit, std::numeric_limits<double>::max());
  const double about_limit = std::min(about(limit), std::numeric_limits<double>::max());
  const std::size_t count = lanes.count;
  const double per_slowing = 1 / at.slowing;
  const double per_slowing_met = 1 / at.slowing_met;
  LaneArray host;
  LaneArray done;
  LaneArray slowed;
  for (std::size_t m = 0; m < count; ++m) {
    const double now = lanes.now[m];
    const double remaining = lanes.remaining[m];
    const double position = lanes.item[m];
    const double stop = books.stopped[m];
    const double whole = seconds[m];
    const double launched = lanes.start[m] + at.launched;
    const double launched_then = larger(now, launched);
    const bool is_new = remaining < 0;
    const double from = choose(is_new, launched_then, now);
    const double left = choose(is_new, whole, remaining);
    const double slowing = choose(books.met[m] != 0, at.slowing_met, at.slowing);
    const double needed = left * slowing;
    const double can = larger(0.0, limit - from);
    const double can_nominal = can * choose(books.met[m] != 0, per_slowing_met, per_slowing);
    const double end = from + needed;
    const bool ends = end <= about_limit;
    const double spent = choose(ends, needed, can);
    const double nominal = choose(ends, left, can_nominal);
    const double rest = left - nominal;
    const double stands = choose(stop == 0, position, nowhere);
    const bool is_here = stands == at.position;
    const double due = choose(is_new, launched, now);
    const double due_here = choose(is_here, due, never);
    const bool begins = due_here <= about_limit;
    const double end_here = choose(begins, end, never);
    const bool passes = end_here <= about_limit;
    const double then = from + spent;
    const double left_then = choose(passes, -1.0, rest);
    const double stops = choose(passes, stop, 1.0);
    host[m] = choose(begins, from - now, 0.0);
    done[m] = choose(begins, nominal, 0.0);
    slowed[m] = choose(begins, spent - nominal, 0.0);
    lanes.now[m] = choose(begins, then, now);
    lanes.remaining[m] = choose(begins, left_then, remaining);
    lanes.item[m] = choose(passes, at.position + 1, position);
    books.stopped[m] = choose(is_here, stops, stop);
  }
  const auto add = [count](const LaneArray& amounts, LaneArray& sums) {
    for (std::size_t m = 0; m < count; ++m) sums[m] += amounts[m];
  };
  if (at.launched > 0) add(host, books.of(Part::host));
  add(done, books.of(at.part));
  if (at.slowing != 1 || at.slowing_met != 1) add(slowed, books.of(Part::overlap_slowdown));
  std::size_t running = 0;
  for (std::size_t m = 0; m < count; ++m) running += books.stopped[m] == 0 ? 1U : 0U;
  return running;
}

namespace {

// These two are part of the one below, compiled for each processor with it.

/// Past an item from where all stand: what hosts waited, what it takes, and what slows it.
/// No two of the arrays are the same one.
[[gnu::always_inline]] inline void pass_all(const WorkItem& item, double slowing,
                                            const Lanes& lanes, LaneArray& now, LaneArray& host,
                                            LaneArray& done, LaneArray& slowed) {
  LaneArray seconds;
  take(item, lanes, seconds);
  const std::size_t count = lanes.count;
  const double launched = item.launched;
  if (launched > 0) {
    for (std::size_t m = 0; m < count; ++m) {
      const double from = larger(now[m], lanes.start[m] + launched);
      host[m] += from - now[m];
      now[m] = from + seconds[m] * slowing;
      done[m] += seconds[m];
    }
  } else {
    for (std::size_t m = 0; m < count; ++m) {
      now[m] += seconds[m] * slowing;
      done[m] += seconds[m];
    }
  }
  if (slowing == 1) return;
  for (std::size_t m = 0; m < count; ++m) slowed[m] += seconds[m] * slowing - seconds[m];
}

/// Passes the items, or, where one does not end them by the limit, none.
[[gnu::always_inline]] inline bool pass_items(std::span<const WorkItem> items, double limit,
                                              Lanes& lanes, LaneBooks& books) {
  const Part part = items.front().part;
  const auto found = std::ranges::find_if(items, [&](const auto& one) { return one.part != part; });
  const Part other = found == items.end() ? part : found->part;
  const bool met = books.met[0] != 0;
  LaneArray now = lanes.now;
  LaneArray host = books.of(Part::host);
  LaneArray slowed = books.of(Part::overlap_slowdown);
  LaneArray done = books.of(part);
  LaneArray done_other = books.of(other);
  for (const WorkItem& item : items) {
    pass_all(item, met ? item.slowing_met : item.slowing, lanes, now, host,
             item.part == part ? done : done_other, slowed);
  }
  // Clocks only rise: who ends the last item in time has ended all.
  if (limit < never) {
    LaneArray ends = now;
    if (best<larger>(ends, lanes.count, 0) > about(limit)) return false;
  }
  lanes.now = now;
  books.of(Part::host) = host;
  books.of(Part::overlap_slowdown) = slowed;
  if (other != part) books.of(other) = done_other;
  books.of(part) = done;
  return true;
}

}  // namespace

GRADWIRE_WIDE_VECTORS
std::size_t pass_run(std::span<const WorkItem> items, double limit, Lanes& lanes,
                     LaneBooks& books) {
  std::size_t passed = 0;
  for (std::size_t next = items.size(); next > 0 && passed < items.size();) {
    next = std::min(next, items.size() - passed);
    if (pass_items(items.subspan(passed, next), limit, lanes, books)) {
      passed += next;
    } else {
      next /= 2;
    }
  }
  lanes.item.fill(items.front().position + static_cast<double>(passed));
  return passed;
}

GRADWIRE_WIDE_VECTORS
Arrivals arrive(double position, double launched, double earliest, bool stops, const Lanes& lanes,
                LaneBooks& books) {
  const std::size_t count = lanes.count;
  const double stops_there = choose(stops, 1, 0);
  Arrivals arrivals;
  LaneArray first;
  LaneArray last;
  for (std::size_t m = 0; m < count; ++m) {
    const double stop = books.stopped[m];
    const double met = books.met[m];
    const double time = larger(larger(lanes.now[m], lanes.start[m] + launched), earliest);
    const double free = choose(stop + met == 0, lanes.item[m], nowhere);
    const bool is_here = free == position;
    first[m] = choose(is_here, time, arrivals.first);
    last[m] = choose(is_here, time, arrivals.last);
    books.met[m] = choose(is_here, 1.0, met);
    books.stopped[m] = choose(is_here, stops_there, stop);
  }
  for (std::size_t m = 0; m < count; ++m) arrivals.count += first[m] < never ? 1U : 0U;
  if (arrivals.count == 0) return arrivals;
  arrivals.first = best<smaller>(first, count, arrivals.first);
  arrivals.last = best<larger>(last, count, arrivals.last);
  return arrivals;
}

GRADWIRE_WIDE_VECTORS
Arrivals arrive_together(double launched, double earliest, bool stops, const Lanes& lanes,
                         LaneBooks& books) {
  const std::size_t count = lanes.count;
  LaneArray time;
  for (std::size_t m = 0; m < count; ++m) {
    time[m] = larger(larger(lanes.now[m], lanes.start[m] + launched), earliest);
  }
  books.met.fill(1);
  books.stopped.fill(choose(stops, 1, 0));
  Arrivals arrivals{.count = count};
  arrivals.first = best<smaller>(time, count, arrivals.first);
  arrivals.last = best<larger>(time, count, arrivals.last);
  return arrivals;
}

GRADWIRE_WIDE_VECTORS
void walk_past(const WorkItem& item, Lanes& lanes) {
  LaneArray seconds;
  take(item, lanes, seconds);
  const WorkItem at = item;
  for (std::size_t m = 0; m < lanes.count; ++m) {
    const double now = lanes.now[m];
    const double remaining = lanes.remaining[m];
    const double position = lanes.item[m];
    const double whole = seconds[m];
    const double launched_then = larger(now, lanes.start[m] + at.launched);
    const bool is_new = remaining < 0;
    const double from = choose(is_new, launched_then, now);
    const double left = choose(is_new, whole, remaining);
    const double then = from + left * at.slowing;
    const bool is_here = position == at.position;
    lanes.now[m] = choose(is_here, then, now);
    lanes.remaining[m] = choose(is_here, -1.0, remaining);
    lanes.item[m] = choose(is_here, at.position + 1, position);
  }
}

GRADWIRE_WIDE_VECTORS
void walk_run(std::span<const WorkItem> items, Lanes& lanes) {
  for (const WorkItem& item : items) {
    LaneArray seconds;
    take(item, lanes, seconds);
    const WorkItem at = item;
    for (std::size_t m = 0; m < lanes.count; ++m) {
      lanes.now[m] = larger(lanes.now[m], lanes.start[m] + at.launched) + seconds[m] * at.slowing;
    }
  }
}

GRADWIRE_WIDE_VECTORS
double latest_of(const Lanes& lanes) {
  LaneArray clocks = lanes.now;
  return best<larger>(clocks, lanes.count, 0);
}

GRADWIRE_WIDE_VECTORS
double earliest_of(const Lanes& lanes) {
  LaneArray clocks = lanes.now;
  return best<smaller>(clocks, lanes.count, never);
}

}  // namespace gradwire
