#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "sim/train/busy_time.hpp"
#include "sim/train/sliding_list.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

/// What became of a run's operations: which have ended and when, and when data moved or a host
/// thread was at work for them.
class OperationLog {
 public:
  /// Notes an operation that was posted. @param label  may be empty where nobody will ask for it.
  OperationId add(std::string label = {}) {
    const auto id = static_cast<OperationId>(ends_.size());
    ends_.push_back(not_ended);
    if (!label.empty()) labels_.emplace(id, std::move(label));
    return id;
  }
  void end(OperationId id, double when) {
    assert(!ended(id));
    ends_[index(id)] = when;
  }
  [[nodiscard]] bool ended(OperationId id) const {
    return forgotten(id) || ends_[index(id)] != not_ended;
  }
  /// When it ended, seconds since the start of the run; 0 of one that is forgotten.
  /// REQUIRES: ended(id).
  [[nodiscard]] double end_of(OperationId id) const { return forgotten(id) ? 0 : ends_[index(id)]; }
  [[nodiscard]] std::string label(OperationId id) const {
    const auto found = labels_.find(id);
    return found == labels_.end() ? std::string() : found->second;
  }
  [[nodiscard]] OperationId next() const { return static_cast<OperationId>(ends_.size()); }

  /// So much was added since forget_until() that it is worth calling.
  [[nodiscard]] bool has_grown() const { return ends_.size() - ends_.first() >= due_; }
  /// Every rank's clock, and the engine's, is at `when` or later: what ended by then holds nobody
  /// up any more.
  void forget_until(double when) {
    std::size_t first = ends_.first();
    while (first < ends_.size() && ends_[first] != not_ended && ends_[first] <= when) ++first;
    ends_.forget_before(first);
    labels_.erase(labels_.begin(), labels_.lower_bound(static_cast<OperationId>(ends_.first())));
    moving.forget_before(when);
    working.forget_before(when);
    due_ = std::max(due_min, 2 * (ends_.size() - ends_.first()));
  }

  BusyTime moving;   ///< a collective or messages move data
  BusyTime working;  ///< that, or a host thread works or a timer runs

 private:
  static constexpr double not_ended = -1;
  static constexpr std::size_t due_min = 4096;
  static std::size_t index(OperationId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] bool forgotten(OperationId id) const { return index(id) < ends_.first(); }

  SlidingList<double> ends_;
  std::map<OperationId, std::string> labels_;  ///< of those that have one
  std::size_t due_ = due_min;                  ///< so many are kept when has_grown() is true
};

}  // namespace gradwire
