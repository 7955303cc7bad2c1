#include "sim/cli/worker_pool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/cli/messages.hpp"
#include "sim/cli/signals.hpp"
#include "sim/engine/simgrid_transport.hpp"

namespace gradwire::cli {
namespace {

/// How long the pool sleeps at most before it looks for an interrupt.
constexpr int poll_ms = 200;

/// CPUs that the largest kernels know: a shorter set is refused there (Linux, arch/x86/Kconfig,
/// NR_CPUS_RANGE_END).
constexpr std::size_t cpus_max = 8192;

/// Descriptors that are left for files while workers run: a store, its log, what a task reads.
constexpr rlim_t spare_descriptors = 16;

/// Exit code of a worker whose answer is why there is none.
constexpr int refused_code = 101;

/// An answer begins with whether its worker has SimGrid loaded.
constexpr char with_simgrid = 's';
constexpr char without_simgrid = '-';

void write_all(int pipe, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const ssize_t written = ::write(pipe, text.data() + begin, text.size() - begin);
    if (written < 0 && errno != EINTR) return;
    begin += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
}

/// A worker's life. @param pool  the process that started it.
[[noreturn]] void work(int pipe, pid_t pool, std::size_t index,
                       const std::function<std::string(std::size_t)>& task) {
  // The pool ends its workers itself when it is interrupted; when it is killed, the kernel does.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != pool) ::_exit(refused_code);  // it was gone before that
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  std::signal(SIGPIPE, SIG_DFL);
  int code = 0;
  std::string text;
  try {
    text = task(index);
  } catch (const std::exception& error) {
    code = refused_code;
    text = error.what();
  }
  text.insert(text.begin(), simgrid_is_loaded() ? with_simgrid : without_simgrid);
  write_all(pipe, text);
  ::_exit(code);
}

TaskOutcome outcome_of(int status, std::string text) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {false,
            fmt::format("the worker was ended by signal {} ({})", signal, strsignal(signal))};
  }
  const int code = WEXITSTATUS(status);
  if (code == 0 || code == refused_code) return {code == 0, std::move(text)};
  return {false, fmt::format("the worker ended with code {}", code)};
}

/// Does so fail what other workers' ends may let succeed?
bool is_shortage(int reason) {
  return reason == EMFILE || reason == ENFILE || reason == EAGAIN || reason == ENOMEM;
}

bool is_near_limit(int descriptor) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(descriptor) + spare_descriptors >= limit.rlim_cur;
}

/// Takes out of an answer whether its worker has loaded SimGrid. Then others will, too: they are
/// forked from a process that has it.
void share_libraries(std::string& answer) {
  if (answer.empty()) return;
  const bool loads = answer.front() == with_simgrid;
  answer.erase(answer.begin());
  if (loads) load_simgrid();
}

class Pool {
 public:
  using Task = std::function<std::string(std::size_t)>;
  using OnDone = std::function<void(std::size_t, const TaskOutcome&)>;

  Pool() = default;
  ~Pool() {
    for (const Worker& worker : workers_) ::kill(worker.pid, SIGKILL);
    while (!workers_.empty()) take_status(0);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run(std::size_t tasks, std::size_t workers, const Task& task, const OnDone& on_done) {
    std::size_t next = 0;
    while (next < tasks || !workers_.empty()) {
      while (next < tasks && workers_.size() < workers) {
        if (const int reason = start(next, task); reason != 0) {
          workers = fewer(workers, reason);
        } else {
          ++next;
        }
      }
      std::vector<pollfd> pipes;
      for (const Worker& worker : workers_) pipes.push_back({worker.pipe, POLLIN, 0});
      ::poll(pipes.data(), pipes.size(), poll_ms);
      if (InterruptFlag::raised()) throw Interrupted{};
      // From the back, so that a worker that goes does not move those still to be looked at.
      for (std::size_t i = pipes.size(); i-- > 0;) {
        if (pipes[i].revents == 0 || read_some(workers_[i])) continue;
        const std::size_t index = workers_[i].task;
        std::string text = std::move(workers_[i].received);
        share_libraries(text);
        on_done(index, outcome_of(take_status(i), std::move(text)));
      }
    }
  }

 private:
  struct Worker {
    pid_t pid = 0;
    int pipe = -1;
    std::size_t task = 0;
    std::string received;
  };

  /// @return 0, or why there can be no more workers now.
  int start(std::size_t index, const Task& task) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    const bool crowded = !workers_.empty() && is_near_limit(ends[1]);
    const pid_t pool = ::getpid();
    const pid_t pid = crowded ? -1 : ::fork();
    if (pid == 0) {
      // What is left of others' pipes here would hide from them that the pool is gone.
      for (const Worker& other : workers_) ::close(other.pipe);
      ::close(ends[0]);
      work(ends[1], pool, index, task);
    }
    const int reason = crowded ? EMFILE : errno;
    ::close(ends[1]);
    if (pid < 0) {
      ::close(ends[0]);
      return reason;
    }
    workers_.push_back({pid, ends[0], index, {}});
    return 0;
  }

  /// How many workers run from now on. @throws std::system_error where there is none.
  [[nodiscard]] std::size_t fewer(std::size_t wanted, int reason) {
    if (workers_.empty() || !is_shortage(reason)) {
      throw std::system_error(reason, std::generic_category(), "cannot start a worker");
    }
    if (!std::exchange(told_, true)) {
      tell("gradwire: {} of {} workers run at a time: {}\n", workers_.size(), wanted,
           std::generic_category().message(reason));
    }
    return workers_.size();
  }

  /// @return false at the end of the answer.
  static bool read_some(Worker& worker) {
    std::array<char, 65'536> chunk{};
    const ssize_t got = ::read(worker.pipe, chunk.data(), chunk.size());
    if (got > 0) worker.received.append(chunk.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  int take_status(std::size_t place) {
    ::close(workers_[place].pipe);
    int status = 0;
    while (::waitpid(workers_[place].pid, &status, 0) < 0 && errno == EINTR) continue;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(place));
    return status;
  }

  std::vector<Worker> workers_;
  bool told_ = false;  ///< that there are fewer workers
};

}  // namespace

void run_in_workers(std::size_t tasks, int workers,
                    const std::function<std::string(std::size_t)>& task,
                    const std::function<void(std::size_t, const TaskOutcome&)>& on_done) {
  const InterruptFlag flag;
  Pool().run(tasks, static_cast<std::size_t>(std::max(1, workers)), task, on_done);
}

int available_cores() {
  std::array<cpu_set_t, cpus_max / CPU_SETSIZE> sets{};
  if (::sched_getaffinity(0, sizeof sets, sets.data()) != 0) return 1;
  return std::max(1, CPU_COUNT_S(sizeof sets, sets.data()));
}

}  // namespace gradwire::cli
