#pragma once

#include <algorithm>
#include <cstddef>
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
  void begin(double start);
  /// What began at `start` ends. REQUIRES: no earlier `end` was later, and start <= end.
  void end(double start, double end);

  /// Seconds of [from, to] in which something was going on; what has not ended goes on.
  [[nodiscard]] double overlap(double from, double to) const;
  /// Nobody will ask for what was before `when`, and nothing will begin there.
  void forget_before(double when);
  /// Seconds until `now` in which something was going on; what has not ended goes on. REQUIRES:
  /// nothing has ended later.
  [[nodiscard]] double until(double now) const;

 private:
  using Starts = std::priority_queue<double, std::vector<double>, std::greater<>>;

  /// Something is going on from `start` on.
  void go_on(double start) {
    since_ = running_ == 0 ? start : std::min(since_, start);
    ++running_;
  }
  /// Some of what began has not ended.
  [[nodiscard]] bool is_open() const { return running_ > 0 || !later_.empty(); }
  /// From when on something was going on without a break, or will. REQUIRES: is_open().
  [[nodiscard]] double open_since() const { return running_ > 0 ? since_ : later_.top(); }

  double last_end_ = 0;
  std::size_t running_ = 0;  ///< have not ended and began by the last end
  double since_ = 0;         ///< no break since then, if some are running
  Starts later_;             ///< of what has not ended and began behind the last end
  std::deque<std::pair<double, double>> past_;  ///< disjoint, rising, not forgotten
  double ended_ = 0;                            ///< seconds of all that has ended
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
