#pragma once

#include <csignal>

namespace gradwire::calibration {

/// This thread is within the recorder. A signal's handler that then calls CUDA or NVTX finds rings
/// half written and locks held by the very thread that it interrupted: what it does is counted and
/// left out. (sig_atomic_t: read and written by one thread and its handlers only.)
class Inside {
 public:
  Inside() : first_(depth == 0) { depth = depth + 1; }
  ~Inside() { depth = depth - 1; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  /// False: a handler of a signal that came while this thread was within.
  [[nodiscard]] bool first() const { return first_; }
  /// Whether the thread is within now.
  [[nodiscard]] static bool now() { return depth != 0; }

 private:
  static inline thread_local volatile std::sig_atomic_t depth = 0;
  bool first_;
};

}  // namespace gradwire::calibration
