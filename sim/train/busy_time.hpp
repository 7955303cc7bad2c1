#pragma once

#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace gradwire {

/// When something was going on: the union of intervals, some of which have not ended yet.
class BusyTime {
 public:
  /// Something begins at `start`; it may lie in the future.
  void begin(double start) { begun_.push(start); }
  /// What began at `start` ends. REQUIRES: no earlier `end` was later.
  void end(double start, double end);

  /// Seconds of [from, to] in which something was going on; what has not ended goes on.
  [[nodiscard]] double overlap(double from, double to) const;
  /// Nobody will ask for what was before `when`, and nothing will begin there.
  void forget_before(double when);
  /// Seconds of all that has ended.
  [[nodiscard]] double total() const { return total_; }

 private:
  using Starts = std::priority_queue<double, std::vector<double>, std::greater<>>;

  /// Some of what began has not ended.
  [[nodiscard]] bool is_open() const { return !begun_.empty(); }
  /// When the first of that began. REQUIRES: is_open().
  [[nodiscard]] double first_open() const { return begun_.top(); }

  Starts begun_;  ///< but for what ended and began before all that is open
  Starts ended_;  ///< those of them that have ended
  std::deque<std::pair<double, double>> past_;  ///< disjoint, rising, not forgotten
  double total_ = 0;
};

/// What goes on for some ranks.
struct Activity {
  BusyTime moving;   ///< a collective or messages move data
  BusyTime working;  ///< that, or a host thread works or a timer runs

  /// As BusyTime's.
  void forget_before(double when) {
    moving.forget_before(when);
    working.forget_before(when);
  }
};

}  // namespace gradwire
