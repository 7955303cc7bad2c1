#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// What one core of a host's processor adds up. Read from profiles/libraries/cpu.yaml, with its
/// sources.
struct HostCpu {
  BytesPerSecond sum_rate;         ///< of the result of adding one array of floats to another
  BytesPerSecond sum_rate_memory;  ///< the same of arrays that no cache holds
  Bytes cached_up_to;              ///< arrays of this size are added at sum_rate
  Bytes memory_from;               ///< and those from this size on at sum_rate_memory

  /// How many times as long as at sum_rate the sum of an array of this size takes: 1 up to
  /// cached_up_to, the rates' ratio from memory_from on, log-log between them. REQUIRES: all are
  /// above zero, cached_up_to < memory_from.
  [[nodiscard]] double sum_slowdown(Bytes size) const;
};

}  // namespace gradwire
