#pragma once

#include <deque>
#include <set>
#include <utility>

namespace gradwire {

/// When something was going on: the union of intervals, some of which have not ended yet.
class BusyTime {
 public:
  /// Something begins at `start`; it may lie in the future.
  void begin(double start) { open_.insert(start); }
  /// What began at `start` ends. REQUIRES: no earlier `end` was later.
  void end(double start, double end);

  /// Seconds of [from, to] in which something was going on; what has not ended goes on.
  [[nodiscard]] double overlap(double from, double to) const;
  /// Nobody will ask for what was before `when`, and nothing will begin there.
  void forget_before(double when);
  /// Seconds of all that has ended.
  [[nodiscard]] double total() const { return total_; }

 private:
  std::multiset<double> open_;
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
