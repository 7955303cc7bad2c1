#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "sim/core/sliding_list.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

/// Who posted an operation: an instance of the strategy, which numbers its own.
struct OperationOwner {
  int instance = -1;  ///< -1: none
  OperationId id = 0;
};

/// What became of a run's operations: which have ended and when.
class OperationLog {
 public:
  /// Notes an operation that was posted. @param label  may be empty where nobody will ask for it.
  OperationId add(std::string label = {}, OperationOwner owner = {}) {
    const auto id = static_cast<OperationId>(entries_.size());
    entries_.push_back({not_ended, owner});
    if (!label.empty()) labels_.emplace(id, std::move(label));
    return id;
  }
  /// REQUIRES: !forgotten(id).
  [[nodiscard]] OperationOwner owner(OperationId id) const { return entries_[index(id)].owner; }
  void end(OperationId id, double when) {
    assert(!ended(id));
    entries_[index(id)].end = when;
  }
  [[nodiscard]] bool ended(OperationId id) const {
    return forgotten(id) || entries_[index(id)].end != not_ended;
  }
  /// When it ended, seconds since the start of the run; 0 of one that is forgotten.
  /// REQUIRES: ended(id).
  [[nodiscard]] double end_of(OperationId id) const {
    return forgotten(id) ? 0 : entries_[index(id)].end;
  }
  [[nodiscard]] std::string label(OperationId id) const {
    const auto found = labels_.find(id);
    return found == labels_.end() ? std::string() : found->second;
  }
  [[nodiscard]] OperationId next() const { return static_cast<OperationId>(entries_.size()); }
  /// It ended so long ago that nobody waits for it.
  [[nodiscard]] bool forgotten(OperationId id) const { return index(id) < entries_.first(); }

  /// So much was added since forget_until() that it is worth calling.
  [[nodiscard]] bool has_grown() const { return entries_.size() - entries_.first() >= due_; }
  /// Every rank's clock, and the engine's, is at `when` or later: what ended by then holds nobody
  /// up any more.
  void forget_until(double when) {
    std::size_t first = entries_.first();
    while (first < entries_.size() && entries_[first].end != not_ended &&
           entries_[first].end <= when) {
      ++first;
    }
    entries_.forget_before(first);
    labels_.erase(labels_.begin(), labels_.lower_bound(static_cast<OperationId>(entries_.first())));
    due_ = std::max(due_min, 2 * (entries_.size() - entries_.first()));
  }

 private:
  static constexpr double not_ended = -1;
  static constexpr std::size_t due_min = 4096;
  static std::size_t index(OperationId id) { return static_cast<std::size_t>(id); }

  struct Entry {
    double end;
    OperationOwner owner;
  };

  SlidingList<Entry> entries_;
  std::map<OperationId, std::string> labels_;  ///< of those that have one
  std::size_t due_ = due_min;                  ///< so many are kept when has_grown() is true
};

/// The run's number of each operation of one instance of the strategy, by its own.
class OwnIds {
 public:
  void push_back(OperationId id) { ids_.push_back(id); }
  /// How many there ever were: the next one's own number.
  [[nodiscard]] OperationId next() const { return static_cast<OperationId>(ids_.size()); }
  /// Of one that the log has forgotten some other such.
  [[nodiscard]] OperationId operator[](OperationId own) const {
    return ids_[std::max(ids_.first(), static_cast<std::size_t>(own))];
  }
  /// Forgets what the log has forgotten, but for the last such.
  void forget(const OperationLog& log) {
    std::size_t first = ids_.first();
    while (first + 1 < ids_.size() && log.forgotten(ids_[first + 1])) ++first;
    ids_.forget_before(first);
  }

 private:
  SlidingList<OperationId> ids_;
};

}  // namespace gradwire
