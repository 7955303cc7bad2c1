#include "sim/cli/worker_pool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/cli/signals.hpp"

namespace gradwire::cli {
namespace {

/// How long the pool sleeps at most before it looks for an interrupt.
constexpr int poll_ms = 200;

/// Precedes each answer on the socket.
struct AnswerHead {
  std::uint64_t done = 0;
  std::uint64_t size = 0;
};

bool send_all(int socket, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// A worker's life: a task number in, an answer out, until the other end closes.
void serve(int socket, const std::function<std::string(std::size_t)>& task) {
  std::uint64_t index = 0;
  while (::recv(socket, &index, sizeof index, MSG_WAITALL) == sizeof index) {
    TaskOutcome outcome;
    try {
      outcome = {true, task(index)};
    } catch (const std::exception& error) {
      outcome = {false, error.what()};
    }
    const AnswerHead head{outcome.done ? 1U : 0U, outcome.text.size()};
    if (!send_all(socket, &head, sizeof head) ||
        !send_all(socket, outcome.text.data(), outcome.text.size())) {
      return;
    }
  }
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("the worker was ended by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("the worker ended with code {}", WEXITSTATUS(status));
}

class Pool {
 public:
  using Task = std::function<std::string(std::size_t)>;
  using OnDone = std::function<void(std::size_t, const TaskOutcome&)>;

  Pool(std::size_t tasks, const Task& task, const OnDone& on_done)
      : tasks_(tasks), task_(task), on_done_(on_done) {}
  ~Pool() {
    for (const Worker& worker : workers_) {
      ::kill(worker.pid, SIGKILL);
      end(worker);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run(int workers) {
    while (std::cmp_less(workers_.size(), workers) && next_ < tasks_) add_worker();
    while (!workers_.empty()) {
      std::vector<pollfd> sockets;
      for (const Worker& worker : workers_) sockets.push_back({worker.socket, POLLIN, 0});
      const int ready = ::poll(sockets.data(), sockets.size(), poll_ms);
      if (InterruptFlag::raised()) throw Interrupted{};
      if (ready <= 0) continue;
      // From the back, so that a worker that goes does not move those still to be looked at.
      for (std::size_t i = sockets.size(); i-- > 0;) {
        if (sockets[i].revents != 0) receive(i);
      }
    }
  }

 private:
  struct Worker {
    pid_t pid = 0;
    int socket = -1;
    std::size_t task = 0;
    std::string received;
  };

  void add_worker() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot start a worker");
    }
    const pid_t pid = ::fork();
    if (pid < 0) {
      const int reason = errno;
      for (const int socket : ends) ::close(socket);
      throw std::system_error(reason, std::generic_category(), "cannot start a worker");
    }
    if (pid == 0) {
      // The pool ends its workers itself; and a socket of another worker that stays open here would
      // hide the pool's end from that worker.
      std::signal(SIGINT, SIG_IGN);
      for (const Worker& other : workers_) ::close(other.socket);
      ::close(ends[0]);
      serve(ends[1], task_);
      ::_exit(0);
    }
    ::close(ends[1]);
    workers_.push_back({pid, ends[0], 0, {}});
    give_task(workers_.back());
  }

  /// A send that fails shows as the end of the worker, at the next look.
  void give_task(Worker& worker) {
    worker.task = next_++;
    const std::uint64_t index = worker.task;
    send_all(worker.socket, &index, sizeof index);
  }

  static int end(const Worker& worker) {
    ::close(worker.socket);
    int status = 0;
    while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
  }

  void receive(std::size_t place) {
    constexpr std::size_t chunk = 65'536;
    Worker& worker = workers_[place];
    const std::size_t before = worker.received.size();
    worker.received.resize(before + chunk);
    const ssize_t got = ::recv(worker.socket, worker.received.data() + before, chunk, 0);
    if (got < 0 && errno == EINTR) {
      worker.received.resize(before);
      return;
    }
    worker.received.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) return lose(place);
    AnswerHead head;
    if (worker.received.size() < sizeof head) return;
    std::memcpy(&head, worker.received.data(), sizeof head);
    if (worker.received.size() < sizeof head + head.size) return;
    const TaskOutcome outcome{head.done != 0, worker.received.substr(sizeof head)};
    const std::size_t task = worker.task;
    worker.received.clear();
    if (next_ < tasks_) {
      give_task(worker);
    } else {
      retire(place);
    }
    on_done_(task, outcome);
  }

  void lose(std::size_t place) {
    const std::size_t task = workers_[place].task;
    const int status = retire(place);
    if (next_ < tasks_) add_worker();
    on_done_(task, {false, describe_end(status)});
  }

  int retire(std::size_t place) {
    const Worker worker = std::move(workers_[place]);
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(place));
    return end(worker);
  }

  std::size_t tasks_;
  std::size_t next_ = 0;
  const Task& task_;
  const OnDone& on_done_;
  std::vector<Worker> workers_;
};

}  // namespace

void run_in_workers(std::size_t tasks, int workers,
                    const std::function<std::string(std::size_t)>& task,
                    const std::function<void(std::size_t, const TaskOutcome&)>& on_done) {
  const InterruptFlag flag;
  Pool(tasks, task, on_done).run(std::max(1, workers));
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace gradwire::cli
