#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace gradwire::cli {

/// "12 of 40 points, 3.1/s, 0:09 left". @param things  that are counted, "points".
/// @param skipped  of those done, which took no time.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t total,
                                        std::string_view things,
                                        std::chrono::duration<double> elapsed,
                                        std::size_t skipped = 0);

/// One line on standard error that tells how far a long work is; silent when that is no terminal,
/// or on request. Gone when destroyed.
class Progress {
 public:
  Progress(std::size_t total, std::string_view things, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step();
  /// One that was done before.
  void skip();

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t total_;
  std::string things_;
  std::size_t done_ = 0;
  std::size_t skipped_ = 0;
  bool shown_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_{};
};

}  // namespace gradwire::cli
