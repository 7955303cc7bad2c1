#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibration/attribution/trace_index.hpp"

namespace gradwire::calibration {

/// One training iteration on the host: work launched in [start, end) belongs to it.
struct HostIteration {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

/// The iterations of a trace, in order, without overlap.
struct Iterations {
  std::vector<HostIteration> host;
  /// What told them apart: "profiler steps", "iteration marks", "optimizer steps", or "repeating
  /// kernels", where the times are those of device records, not of the host.
  std::string told_by;
  bool by_device = false;
  std::uint32_t thread = 0;  ///< which ran them; means nothing by_device
};

/// Finds them by the first of these that the trace has at least once:
/// ranges "ProfilerStep#n"; marks "gradwire.iteration:n", from one to the next, so that the last
/// iteration is given up; ends of optimizer steps, from one to the next, or from the
/// beginning to the only one; the shortest sequence of
/// kernels that repeats to the end of the trace, at least three times.
/// Empty where there is none.
[[nodiscard]] Iterations find_iterations(const TraceIndex& index);

/// The end of a sequence, in which each element is the same as that `period` before it.
struct RepeatingTail {
  std::size_t begin = 0;   ///< in the sequence; the tail may begin in the middle of a period
  std::size_t period = 0;  ///< 0: nothing repeats
};

/// The tail of the shortest period that repeats over at least four fifths of the sequence and at
/// least three times. Takes time linear in the sequence.
[[nodiscard]] RepeatingTail repeating_tail(std::span<const NameId> sequence);

}  // namespace gradwire::calibration
