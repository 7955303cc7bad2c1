#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibration/capture/inject/clock.hpp"
#include "calibration/capture/inject/ring.hpp"

namespace gradwire::calibration {

/// A counter that one thread adds to and others read.
class OwnCounter {
 public:
  void add(std::uint64_t more) {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

/// A range that its thread has not ended.
struct OpenRange {
  std::uint64_t id = 0;  ///< 0: not recorded
  std::uint32_t domain = 0;
  bool linked = false;  ///< CUPTI was notified of it
};

/// What one thread of the program records. Its own thread writes, the recorder's drains.
struct ThreadLog {
  ThreadLog(std::uint32_t id, std::uint64_t ranges_from, std::size_t ring_bytes)
      : ring(ring_bytes), thread(id), next_range(ranges_from) {
    constexpr std::size_t depth_usual = 64;
    open.reserve(depth_usual);
  }

  Ring ring;
  const std::uint32_t thread;
  std::uint64_t next_range;
  std::vector<OpenRange> open;
  OwnCounter callbacks;
  OwnCounter overhead_ns;
  OwnCounter dropped;
  std::atomic<bool> retired = false;  ///< its thread has ended
};

/// Times one of our calls in 16, for all of them: two readings of the clock cost as much as the
/// call itself.
class CallTimer {
 public:
  explicit CallTimer(ThreadLog& log) : log_(log) {
    log_.callbacks.add(1);
    if (log_.callbacks.value() % timed_each == 0) begin_ = monotonic_ns();
  }
  ~CallTimer() {
    if (begin_ == 0) return;
    log_.overhead_ns.add(static_cast<std::uint64_t>(monotonic_ns() - begin_) * timed_each);
  }
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

 private:
  static constexpr std::uint64_t timed_each = 16;
  ThreadLog& log_;
  std::int64_t begin_ = 0;
};

}  // namespace gradwire::calibration
