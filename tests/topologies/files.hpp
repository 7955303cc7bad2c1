#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::test {

inline std::filesystem::path source_dir() {
  return GRADWIRE_SOURCE_DIR;
}

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::filesystem::path reference_matrices() {
  return shared("data/topologies");
}

inline std::filesystem::path fixture(const std::string& name) {
  return source_dir() / "tests" / "topologies" / "fixtures" / name;
}

inline std::string cube_mesh() {
  return read_text(fixture("cube_mesh.txt"));
}

}  // namespace gradwire::test
