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
}

void mask(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(how, &set, nullptr);
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
  mask(SIG_BLOCK);
}
InterruptsHeld::~InterruptsHeld() {
  mask(SIG_UNBLOCK);
}

}  // namespace gradwire::cli
