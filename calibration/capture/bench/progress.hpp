#pragma once

#include <chrono>
#include <string>

namespace gradwire::calibration {

/// From now on an interrupt (SIGINT, SIGTERM) asks the benchmarks to end after the measurement
/// they are in, and to keep what is finished.
void catch_interrupts();
/// Has one come?
[[nodiscard]] bool interrupted();

/// A line on standard error, when that is a terminal: what is measured, how far, how long yet.
class Progress {
 public:
  explicit Progress(int steps);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;
  ~Progress();  ///< wipes the line

  /// A step begins; the time that is left is taken from the steps before it.
  void step(const std::string& what);

 private:
  int steps_;
  int begun_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gradwire::calibration
