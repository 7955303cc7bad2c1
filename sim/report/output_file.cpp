#include "sim/report/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace gradwire {
namespace {

namespace fs = std::filesystem;

/// errno is the best that a stream tells of its failure.
[[noreturn]] void fail(const std::string& path, int reason) {
  throw std::runtime_error(
      fmt::format("cannot write '{}': {}", path, std::generic_category().message(reason)));
}

bool put(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return !file.fail();
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  std::error_code ignored;
  const bool in_place = path.starts_with("/dev/") ||
                        (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored));
  errno = 0;
  if (in_place) {
    if (!put(path, content)) fail(path, errno);
    return;
  }
  // A link is followed, so that the rename replaces what it points to.
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::weakly_canonical(path) : fs::path(path);
  fs::path temporary = target;
  temporary += fmt::format(".tmp{}", ::getpid());
  bool done = put(temporary, content);
  int reason = errno;
  if (done) {
    const fs::file_status former = fs::status(target, ignored);
    if (fs::exists(former)) fs::permissions(temporary, former.permissions(), ignored);
    std::error_code error;
    fs::rename(temporary, target, error);
    done = !error;
    reason = error.value();
  }
  if (!done) {
    fs::remove(temporary, ignored);
    fail(path, reason);
  }
}

}  // namespace gradwire
