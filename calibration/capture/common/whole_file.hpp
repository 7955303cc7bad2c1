#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace gradwire::calibration {

/// Writes a file whole or not at all: beside its place first, then renamed. Makes its folder.
/// @throws std::runtime_error that names the file and the system's reason.
inline void write_whole_file(const std::filesystem::path& path, const std::string& text) {
  const auto fail = [&] {
    throw std::runtime_error("cannot write '" + path.string() + "': " + std::strerror(errno));
  };
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const std::filesystem::path part = path.string() + ".part";
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) fail();
  }
  std::filesystem::rename(part, path, error);
  if (error) {
    errno = error.value();
    fail();
  }
}

}  // namespace gradwire::calibration
