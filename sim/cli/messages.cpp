#include "sim/cli/messages.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <system_error>

namespace gradwire::cli {
namespace {

/// How long a message waits at most for a terminal that takes nothing.
constexpr int patience_ms = 1000;

/// While one lives, a pipe without a reader is an error of write(), not the program's end.
class PipeSignalIgnored {
 public:
  PipeSignalIgnored() noexcept {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~PipeSignalIgnored() { sigaction(SIGPIPE, &before_, nullptr); }
  PipeSignalIgnored(const PipeSignalIgnored&) = delete;
  PipeSignalIgnored& operator=(const PipeSignalIgnored&) = delete;

 private:
  struct sigaction before_ {};
};

/// @return whether writing is worth another try
bool wait_for_error_stream(int reason) noexcept {
  if (reason == EINTR) return true;
  if (reason != EAGAIN) return false;
  pollfd stream{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&stream, 1, patience_ms) > 0;
}

[[noreturn]] void fail_output() {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
                          "cannot write standard output");
}

}  // namespace

void hold_standard_descriptors() noexcept {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is the stream's.
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void write_raw(std::string_view text) noexcept {
  const PipeSignalIgnored ignored;
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (!wait_for_error_stream(errno)) {
      return;
    }
  }
}

void write_message(std::string_view text) noexcept {
  try {
    write_raw(plain_text(text));
  } catch (...) {
    write_raw("gradwire: out of memory for a message\n");
  }
}

void print_text(std::string_view text) {
  const std::string plain = plain_text(text);
  errno = 0;
  if (std::fwrite(plain.data(), 1, plain.size(), stdout) != plain.size()) fail_output();
}

void finish_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.flush()) fail_output();
}

}  // namespace gradwire::cli
