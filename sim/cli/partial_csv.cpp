#include "sim/cli/partial_csv.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace gradwire::cli {
namespace {

constexpr mode_t partial_mode = 0666;  // what the user's mask leaves of it

}  // namespace

PartialCsv::PartialCsv(const std::string& csv) {
  std::error_code ignored;
  const bool whole =
      std::filesystem::is_regular_file(csv, ignored) || !std::filesystem::exists(csv, ignored);
  if (!csv.empty() && whole) path_ = csv + ".partial";
}

PartialCsv::~PartialCsv() {
  if (file_ >= 0) ::close(file_);
}

bool PartialCsv::is_left() const {
  std::error_code ignored;
  return !path_.empty() && std::filesystem::exists(path_, ignored);
}

std::optional<std::string> PartialCsv::add(const ResultRow& row) {
  if (path_.empty() || failed_) return std::nullopt;
  if (!lines_ && !row.error.empty()) {
    waiting_.push_back(row);
    return std::nullopt;
  }
  std::string text;
  if (!lines_) {
    lines_.emplace(row);
    text = lines_->head();
  }
  text += lines_->line(row);
  for (const ResultRow& failed : waiting_) text += lines_->line(failed);
  waiting_.clear();
  if (append(text)) return std::nullopt;
  failed_ = true;
  return "cannot write '" + path_ + "': " + std::generic_category().message(errno);
}

bool PartialCsv::append(const std::string& text) {
  if (file_ < 0) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, partial_mode);
  }
  if (file_ < 0) return false;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = ::write(file_, text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) {
      const int reason = errno;
      if (::ftruncate(file_, static_cast<off_t>(size_)) != 0) return false;
      errno = reason;
      return false;
    }
    written += static_cast<std::size_t>(now);
  }
  if (::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) return false;
  size_ += text.size();
  return true;
}

void PartialCsv::remove() {
  if (file_ >= 0) ::unlink(path_.c_str());
}

}  // namespace gradwire::cli
