#pragma once

#include <cstdint>

namespace gradwire::calibration {

/// What a source of device records lost and cost.
struct DeviceCounts {
  std::uint64_t dropped = 0;
  std::uint64_t unstamped = 0;
  std::uint64_t buffers_missing = 0;
  std::uint64_t background_ns = 0;
};

/// Where device records come from, as the recorder sees it: CUPTI.
class DeviceSource {
 public:
  DeviceSource() = default;
  DeviceSource(const DeviceSource&) = delete;
  DeviceSource& operator=(const DeviceSource&) = delete;
  virtual ~DeviceSource() = default;

  virtual void enable() = 0;
  virtual void disable() = 0;
  /// Hands over what is complete; all that there is where `forced`.
  virtual void flush(bool forced) = 0;
  /// The calling thread's CUDA calls belong to this range until it is popped.
  virtual void push_range(std::uint64_t range) = 0;
  virtual void pop_range() = 0;
  /// The source's own clock now, nanoseconds; 0: it has none.
  [[nodiscard]] virtual std::int64_t clock_ns() const = 0;
  [[nodiscard]] virtual DeviceCounts counts() const = 0;
};

}  // namespace gradwire::calibration
