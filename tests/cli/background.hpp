#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.hpp"

namespace gradwire {

/// Looks again and again until something holds. @return whether it came to hold in time.
inline bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// What /proc says of a process: "pid (name) state parent ...", from the state on; "" when it is
/// gone.
inline std::string state_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? "" : text.substr(name_end + 2);
}

inline bool lives(pid_t pid) {
  const std::string state = state_of(pid);
  return !state.empty() && state.front() != 'Z' && state.front() != 'X';
}

/// The built program in a test's folder, in a process group of its own, killed with the object.
class Background {
 public:
  /// @param before  for the shell, e.g. "trap '' HUP;".
  Background(const Workplace& place, const std::string& arguments, const std::string& before = "") {
    const std::string command = before + " cd '" + place.path().string() +
                                "' && exec '" GRADWIRE_PROGRAM "' " + arguments + " > .out 2> .err";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    ::setpgid(pid_, pid_);
  }
  ~Background() {
    if (waited_) return;
    kill_all();
    static_cast<void>(wait());
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }
  void kill_all() const { ::kill(-pid_, SIGKILL); }
  /// Its live children.
  [[nodiscard]] std::vector<pid_t> workers() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const pid_t pid = std::stoi(name);
      const std::string state = state_of(pid);
      if (state.size() > 2 && std::stoi(state.substr(2)) == pid_ && lives(pid)) {
        found.push_back(pid);
      }
    }
    return found;
  }
  /// @return its exit code, or the negative signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    waited_ = true;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = 0;
  bool waited_ = false;
};

}  // namespace gradwire
