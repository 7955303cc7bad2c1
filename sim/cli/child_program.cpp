#include "sim/cli/child_program.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gradwire::cli {
namespace {

constexpr int cannot_run = 127;
constexpr int signal_base = 128;
constexpr std::array<int, 3> passed_signals{SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t child_id = 0;

/// While one lives, signals go to the child.
class SignalsPassed {
 public:
  SignalsPassed() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      if (child_id > 0) kill(child_id, signal);
    };
    sigemptyset(&action.sa_mask);
    for (std::size_t index = 0; index < passed_signals.size(); ++index) {
      sigaction(passed_signals[index], &action, &before_[index]);
    }
  }
  ~SignalsPassed() {
    for (std::size_t index = 0; index < passed_signals.size(); ++index) {
      sigaction(passed_signals[index], &before_[index], nullptr);
    }
    child_id = 0;
  }
  SignalsPassed(const SignalsPassed&) = delete;
  SignalsPassed& operator=(const SignalsPassed&) = delete;

 private:
  std::array<struct sigaction, passed_signals.size()> before_{};
};

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const int signal : passed_signals) std::signal(signal, SIG_DFL);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  fmt::print(stderr, "gradwire: cannot run '{}': {}\n", command.front(), std::strerror(errno));
  _exit(cannot_run);
}

}  // namespace

int run_program(const std::vector<std::string>& command,
                const std::vector<std::pair<std::string, std::string>>& environment) {
  const SignalsPassed passed;
  const pid_t child = fork();
  if (child < 0) {
    fmt::print(stderr, "gradwire: cannot run '{}': {}\n", command.front(), std::strerror(errno));
    return cannot_run;
  }
  if (child == 0) become(command, environment);
  child_id = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : signal_base + WTERMSIG(status);
}

}  // namespace gradwire::cli
