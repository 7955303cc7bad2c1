#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace gradwire::test {

/// A folder of a test's own, removed at its end.
class ScratchFolder {
 public:
  ScratchFolder() {
    static int made = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("gradwire_" + std::to_string(getpid()) + "_" + std::to_string(made++));
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// @return the file's name.
  [[nodiscard]] std::string write(const std::string& text, const std::string& name) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file) << text;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace gradwire::test
