#include "calibration/capture/bench/progress.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace gradwire::calibration {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int /*signal*/) {
  interrupt_seen = 1;
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
}

bool interrupted() {
  return interrupt_seen != 0;
}

Progress::Progress(int steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_ && begun_ > 0) std::fputs("\r\033[K", stderr);
}

void Progress::step(const std::string& what) {
  ++begun_;
  if (!terminal_) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const double left = begun_ > 1 ? elapsed.count() / (begun_ - 1) * (steps_ - begun_ + 1) : 0;
  std::fprintf(stderr, "\r\033[K[%d/%d] %s", begun_, steps_, what.c_str());
  if (begun_ > 1) std::fprintf(stderr, ", %.0f s left", left);
  std::fflush(stderr);
}

}  // namespace gradwire::calibration
