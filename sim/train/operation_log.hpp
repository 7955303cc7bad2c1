#pragma once

#include <cassert>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/train/busy_time.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

/// What became of a run's operations: which have ended and when, and when data moved or a host
/// thread was at work for them.
class OperationLog {
 public:
  /// Notes an operation that was posted. @param label  may be empty where nobody will ask for it.
  OperationId add(std::string label = {}) {
    ends_.push_back(not_ended);
    if (!label.empty()) {
      labels_.resize(ends_.size());
      labels_.back() = std::move(label);
    }
    return static_cast<OperationId>(ends_.size()) - 1;
  }
  void end(OperationId id, double when) {
    assert(!ended(id));
    ends_[index(id)] = when;
  }
  [[nodiscard]] bool ended(OperationId id) const { return ends_[index(id)] != not_ended; }
  /// REQUIRES: ended(id).
  [[nodiscard]] double end_of(OperationId id) const { return ends_[index(id)]; }
  [[nodiscard]] std::string label(OperationId id) const {
    return index(id) < labels_.size() ? labels_[index(id)] : std::string();
  }
  [[nodiscard]] OperationId next() const { return static_cast<OperationId>(ends_.size()); }

  BusyTime moving;   ///< a collective or messages move data
  BusyTime working;  ///< that, or a host thread works or a timer runs

 private:
  static constexpr double not_ended = -1;
  static std::size_t index(OperationId id) { return static_cast<std::size_t>(id); }

  std::vector<double> ends_;
  std::vector<std::string> labels_;  ///< up to the last one that has one
};

}  // namespace gradwire
