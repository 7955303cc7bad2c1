#include "sim/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "sim/cli/messages.hpp"

namespace gradwire::cli {
namespace {

/// Time between two prints.
constexpr std::chrono::milliseconds pause{100};

}  // namespace

std::string progress_text(std::size_t done, std::size_t total, std::string_view things,
                          std::chrono::duration<double> elapsed, std::size_t skipped) {
  std::string text = fmt::format("{} of {} {}", done, total, things);
  if (done == skipped || elapsed.count() <= 0) return text;
  const double rate = static_cast<double>(done - skipped) / elapsed.count();
  const auto left = std::lround(static_cast<double>(total - done) / rate);
  return text + fmt::format(", {:.1f}/s, {}:{:02} left", rate, left / 60, left % 60);
}

Progress::Progress(std::size_t total, std::string_view things, bool quiet)
    : total_(total), things_(things), shown_(!quiet && total > 1 && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) write_raw("\r\x1b[K");
}

void Progress::step() {
  ++done_;
  const auto now = Clock::now();
  if (!shown_ || now - last_ < pause) return;
  last_ = now;
  write_raw("\r\x1b[K" + progress_text(done_, total_, things_, now - begin_, skipped_));
}

void Progress::skip() {
  ++skipped_;
  step();
}

}  // namespace gradwire::cli
