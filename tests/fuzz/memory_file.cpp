#include "tests/fuzz/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace gradwire::fuzz {
namespace {

/// Replaces what is in the file.
void refill(int file, std::string_view bytes) {
  if (::ftruncate(file, 0) != 0 || ::lseek(file, 0, SEEK_SET) != 0) {
    throw std::runtime_error("a file cannot be emptied");
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) throw std::runtime_error("a file cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// A file of this process's, gone at its end.
class DiskFile {
 public:
  DiskFile() {
    path_ = (std::filesystem::temp_directory_path() / "gradwire_fuzz_XXXXXX").string();
    file_ = ::mkstemp(path_.data());
    if (file_ < 0) throw std::runtime_error("no temporary file");
  }
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile() {
    ::close(file_);
    ::unlink(path_.c_str());
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int file() const { return file_; }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace

std::string memory_file(const std::string& bytes) {
  static const int file = ::memfd_create("gradwire_fuzz", MFD_CLOEXEC);
  if (file < 0) throw std::runtime_error("no file in memory");
  refill(file, bytes);
  return "/proc/self/fd/" + std::to_string(file);
}

std::string disk_file(const std::string& bytes) {
  static const DiskFile file;
  refill(file.file(), bytes);
  return file.path();
}

}  // namespace gradwire::fuzz
