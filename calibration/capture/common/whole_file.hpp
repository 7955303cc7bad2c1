#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "sim/core/output_file.hpp"

namespace gradwire::calibration {

/// Writes a file whole or not at all, as write_file does. Makes its folder.
/// @throws std::runtime_error that names the file and the system's reason.
inline void write_whole_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;  // write_file tells that there is no folder
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  write_file(path.string(), text);
}

}  // namespace gradwire::calibration
