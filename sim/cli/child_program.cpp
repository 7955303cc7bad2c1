#include "sim/cli/child_program.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "sim/cli/messages.hpp"

namespace gradwire::cli {
namespace {

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

/// Returns where there is no such program.
void execute(const std::vector<std::string>& command) {
  std::signal(SIGXFSZ, SIG_DFL);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
}

[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const int signal : passed_signals) std::signal(signal, SIG_DFL);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execute(command);
  tell("gradwire: cannot run '{}': {}\n", command.front(), std::strerror(errno));
  _exit(cannot_run);
}

int code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : signal_base + WTERMSIG(status);
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A descriptor, closed when destroyed.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// Fills a file that has no name, so that nobody else can put something there.
void fill(int file, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const ssize_t written = write(file, text.data() + begin, text.size() - begin);
    if (written < 0 && errno != EINTR) fail("cannot hand over a program's input");
    begin += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
  if (lseek(file, 0, SEEK_SET) != 0) fail("cannot hand over a program's input");
}

std::string read_to_end(int pipe) {
  std::string text;
  std::array<char, 65'536> chunk{};
  while (true) {
    const ssize_t got = read(pipe, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

int run_program(const std::vector<std::string>& command,
                const std::vector<std::pair<std::string, std::string>>& environment) {
  const SignalsPassed passed;
  const pid_t child = fork();
  if (child < 0) {
    tell("gradwire: cannot run '{}': {}\n", command.front(), std::strerror(errno));
    return cannot_run;
  }
  if (child == 0) become(command, environment);
  child_id = child;
  return code_of(child);
}

ProgramOutput run_with_input(const std::vector<std::string>& command, const std::string& input) {
  const Descriptor file(memfd_create("input", MFD_CLOEXEC));
  if (file.number() < 0) fail("cannot hand over a program's input");
  fill(file.number(), input);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot take a program's output");
  const Descriptor output(ends[0]);
  Descriptor far_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) fail("cannot start a program");
  if (child == 0) {
    if (dup2(file.number(), STDIN_FILENO) >= 0 && dup2(far_end.number(), STDOUT_FILENO) >= 0) {
      execute(command);
    }
    _exit(cannot_run);
  }
  far_end.close();
  ProgramOutput result;
  result.text = read_to_end(output.number());
  result.code = code_of(child);
  return result;
}

}  // namespace gradwire::cli
