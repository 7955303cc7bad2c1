#include "sim/cli/signals.hpp"

#include <unistd.h>

#include <csignal>

namespace gradwire::cli {
namespace {

volatile std::sig_atomic_t raised_flag = 0;

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction present {};
  sigaction(SIGHUP, nullptr, &present);
  if (present.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void exit_on_interrupt() {
  set_handler([](int) { _exit(interrupted_code); });
}

InterruptFlag::InterruptFlag() {
  raised_flag = 0;
  set_handler([](int) { raised_flag = 1; });
}
InterruptFlag::~InterruptFlag() {
  exit_on_interrupt();
}
bool InterruptFlag::raised() {
  return raised_flag != 0;
}

InterruptsHeld::InterruptsHeld() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &before_);
}
InterruptsHeld::~InterruptsHeld() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace gradwire::cli
