#include "sim/core/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace gradwire {
namespace {

namespace fs = std::filesystem;

constexpr mode_t new_file_mode = 0666;  ///< as open() is called everywhere; the umask narrows it
constexpr mode_t permissions = 0777;

/// A call of the system failed.
[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category());
}

/// A descriptor, closed when destroyed.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number_ < 0) fail();
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  /// Some file systems tell only now that they could not write.
  void close() {
    const int number = number_;
    number_ = -1;
    if (::close(number) != 0) fail();
  }

 private:
  int number_;
};

void write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno != EINTR) fail();
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Until it is on the disk. What has no disk below it (a pipe, some network's file system) refuses.
void synchronise(int file) {
  if (::fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail();
}

/// The descriptor of ours that a path names.
std::optional<int> own_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  constexpr std::string_view folder = "/dev/fd/";
  if (!path.starts_with(folder)) return std::nullopt;
  path.remove_prefix(folder.size());
  int number = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  if (error != std::errc{} || end != path.data() + path.size()) return std::nullopt;
  return number;
}

/// Where a path leads, links followed, though there may be no such file yet.
fs::path target_of(const fs::path& path) {
  constexpr int links_max = 40;  // the kernel's own bound (path_resolution(7))
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < links_max; ++i) {
    if (!fs::is_symlink(target, error)) return target;
    const fs::path next = fs::read_symlink(target);
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  throw std::system_error(ELOOP, std::generic_category());
}

mode_t umask_of_process() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

/// A file beside the target, of its mode; removed when destroyed, unless it took the target's
/// place.
class Temporary {
 public:
  explicit Temporary(const fs::path& target)
      : folder_(target.has_parent_path() ? target.parent_path() : fs::path(".")),
        name_((folder_ / ".gradwire.XXXXXX").string()),
        file_(::mkostemp(name_.data(), O_CLOEXEC)) {}
  ~Temporary() {
    if (!placed_) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void fill(std::string_view content, const std::optional<struct stat>& former) {
    write_all(file_.number(), content);
    if (::fchmod(file_.number(), mode_like(former)) != 0) fail();
    synchronise(file_.number());
    file_.close();
  }

  void take_place_of(const fs::path& target) {
    if (::rename(name_.c_str(), target.c_str()) != 0) fail();
    placed_ = true;
    const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    synchronise(folder.number());
  }

 private:
  /// What the former file's group might do, only the same group may.
  [[nodiscard]] mode_t mode_like(const std::optional<struct stat>& former) const {
    if (!former) return new_file_mode & ~umask_of_process();
    const mode_t mode = former->st_mode & permissions;
    struct stat own {};
    if (::fstat(file_.number(), &own) != 0) fail();
    const bool same_group = own.st_gid == former->st_gid ||
                            ::fchown(file_.number(), static_cast<uid_t>(-1), former->st_gid) == 0;
    return same_group ? mode : mode & ~static_cast<mode_t>(S_IRWXG);
  }

  fs::path folder_;
  std::string name_;
  Descriptor file_;
  bool placed_ = false;
};

void write_in_place(const std::string& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC));
  write_all(file.number(), content);
  file.close();
}

void replace(const fs::path& target, std::string_view content) {
  struct stat found {};
  std::optional<struct stat> former;
  if (::lstat(target.c_str(), &found) == 0) former = found;
  Temporary temporary(target);
  temporary.fill(content, former);
  temporary.take_place_of(target);
}

void write_to(const std::string& path, std::string_view content) {
  if (const std::optional<int> own = own_descriptor(path)) {
    if (std::fflush(stdout) != 0) fail();
    write_all(*own, content);
    return;
  }
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    write_in_place(path, content);
  } else {
    replace(target_of(path), content);
  }
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  try {
    write_to(path, content);
  } catch (const std::system_error& error) {
    throw std::runtime_error("cannot write '" + path + "': " + error.code().message());
  }
}

}  // namespace gradwire
