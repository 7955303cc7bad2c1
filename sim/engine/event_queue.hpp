#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/engine/action.hpp"

namespace gradwire {

/// The clock, and what is to happen, in the order (time, priority, sequence of posting).
class EventQueue {
 public:
  /// Kept for the network's own events: they come before all others of an instant.
  static constexpr int network_priority = std::numeric_limits<int>::min();

  [[nodiscard]] Seconds now() const { return now_; }
  /// REQUIRES: `when` is not before now.
  void advance_to(Seconds when);

  /// REQUIRES: `when` is finite and not before now.
  void post(Seconds when, int priority, Action action);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// REQUIRES: not empty.
  [[nodiscard]] Seconds next_time() const { return heap_.front().time; }
  /// The first event's time has come.
  [[nodiscard]] bool due() const { return !empty() && next_time() <= now_; }
  /// The first event's time has come and it is the network's.
  [[nodiscard]] bool network_due() const {
    return due() && heap_.front().priority == network_priority;
  }
  /// Takes the first event out and runs it. REQUIRES: due().
  void run_next();

 private:
  struct Entry {
    Seconds time;
    std::uint64_t sequence;
    int priority;
    std::uint32_t slot;  ///< of its action; actions do not move when the heap does
  };
  /// A type, so that heaps call no pointer.
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.time != b.time) return a.time > b.time;
      if (a.priority != b.priority) return a.priority > b.priority;
      return a.sequence > b.sequence;
    }
  };

  Seconds now_;
  std::uint64_t posted_ = 0;
  std::vector<Entry> heap_;
  std::vector<Action> actions_;
  std::vector<std::uint32_t> free_;
};

}  // namespace gradwire
