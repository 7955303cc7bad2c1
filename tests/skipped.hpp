#pragma once

#include <filesystem>
#include <iostream>
#include <string>

#include "tests/source_dir.hpp"

namespace gradwire::test {

/// Says why the case goes no further; CTest counts it as skipped by this line
/// (tests/CMakeLists.txt), so that what fails must fail before it.
inline void skip(const std::string& why) {
  std::cout << "test skipped: " << why << std::endl;
}

/// Published data kept beside the repository; not everybody has it.
inline std::filesystem::path shared(const std::filesystem::path& inside) {
  return std::filesystem::path(GRADWIRE_SOURCE_DIR).parent_path() / "shared" / inside;
}

/// @return true, the case being skipped, where there is no such file or folder.
inline bool skipped_without(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) return false;
  skip("no " + file.string());
  return true;
}

}  // namespace gradwire::test
