#pragma once

#include <csignal>

namespace gradwire::cli {

/// Exit code of an interrupted program (128 + SIGINT).
constexpr int interrupted_code = 130;

/// Thrown where waiting was cut short by an interrupt: SIGINT, SIGTERM, or the terminal's end
/// (SIGHUP), which a program under nohup does not hear of.
struct Interrupted {};

/// From here on an interrupt ends the program at once with interrupted_code.
void exit_on_interrupt();

/// While one lives, an interrupt only makes raised() true.
class InterruptFlag {
 public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;
  [[nodiscard]] static bool raised();
};

/// While one lives, an interrupt waits: for writing files.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace gradwire::cli
