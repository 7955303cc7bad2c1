#include "sim/cli/child_program.hpp"

#include <sys/mman.h>

#include <array>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
#include <boost/process/search_path.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "sim/cli/messages.hpp"

namespace gradwire::cli {
namespace {

namespace process = boost::process;

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

/// Starts a program by Boost.Process, with what else it is given.
/// @throws std::system_error where it cannot be run
template <class... Settings>
process::child start(const std::vector<std::string>& command, Settings&&... settings) {
  const std::string& name = command.front();
  const std::string path =
      name.find('/') == std::string::npos ? process::search_path(name).string() : name;
  // Boost 1.74 reads behind an empty path.
  if (path.empty()) throw std::system_error(ENOENT, std::generic_category());
  return process::child(
      path, process::args(std::vector<std::string>(command.begin() + 1, command.end())),
      process::extend::on_exec_setup([](auto& /*executor*/) { std::signal(SIGXFSZ, SIG_DFL); }),
      std::forward<Settings>(settings)...);
}

int code_of(process::child& child) {
  child.wait();
  const int status = child.native_exit_code();
  return WIFEXITED(status) ? WEXITSTATUS(status) : signal_base + WTERMSIG(status);
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A file that has no name, so that nobody else can put something there.
File file_with(const std::string& text) {
  File file(fdopen(memfd_create("input", MFD_CLOEXEC), "w+"), std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fseek(file.get(), 0, SEEK_SET) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot hand over a program's input");
  }
  return file;
}

}  // namespace

int run_program(const std::vector<std::string>& command,
                const std::vector<std::pair<std::string, std::string>>& environment) {
  process::environment variables = boost::this_process::environment();
  for (const auto& [name, value] : environment) variables[name] = value;
  const SignalsPassed passed;
  try {
    process::child child = start(command, variables);
    child_id = child.id();
    return code_of(child);
  } catch (const std::system_error& error) {
    tell("gradwire: cannot run '{}': {}\n", command.front(), error.code().message());
    return cannot_run;
  }
}

ProgramOutput run_with_input(const std::vector<std::string>& command, const std::string& input) {
  const File file = file_with(input);
  process::ipstream output;
  ProgramOutput result;
  try {
    process::child child =
        start(command, (process::std_in < file.get()), (process::std_out > output));
    result.text.assign(std::istreambuf_iterator<char>(output), {});
    result.code = code_of(child);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    result.code = cannot_run;
  }
  return result;
}

}  // namespace gradwire::cli
