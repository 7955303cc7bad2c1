#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "calibration/attribution/range_names.hpp"
#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// Index into Trace::ranges.
using RangeId = std::uint32_t;
constexpr RangeId no_range = std::numeric_limits<RangeId>::max();

/// Who launched a device record.
struct Launch {
  bool known = false;
  Nanoseconds time = 0;
  std::uint32_t thread = 0;
  RangeId range = no_range;  ///< innermost
};

/// A trace, sorted and joined: which range lies in which, and which work each launched. The trace
/// must outlive it.
class TraceIndex {
 public:
  explicit TraceIndex(const Trace& trace);

  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] const RangeRecord& range(RangeId id) const { return trace_.ranges[id]; }
  [[nodiscard]] const RangeMeaning& meaning(RangeId id) const {
    return meanings_[trace_.ranges[id].name];
  }
  [[nodiscard]] const RangeMeaning& meaning(const DeviceRecord& record) const {
    return meanings_[record.name];
  }
  /// Innermost range around another on its thread.
  [[nodiscard]] RangeId parent(RangeId id) const { return parents_[id]; }
  /// All ranges by thread, then start, the longer first.
  [[nodiscard]] const std::vector<RangeId>& ranges() const { return order_; }
  /// By index into Trace::device. By the recorder's own link; else by the call of the same
  /// correlation, inside the innermost range of its thread.
  [[nodiscard]] const Launch& launch(std::size_t record) const { return launches_[record]; }
  /// Indices into Trace::device by start.
  [[nodiscard]] const std::vector<std::uint32_t>& device_order() const { return device_order_; }

 private:
  void nest_ranges();
  void find_launches();
  [[nodiscard]] std::vector<RangeId> ranges_around_calls() const;

  const Trace& trace_;
  std::vector<RangeMeaning> meanings_;
  std::vector<RangeId> order_;
  std::vector<RangeId> parents_;
  std::vector<Launch> launches_;
  std::vector<std::uint32_t> device_order_;
};

}  // namespace gradwire::calibration
