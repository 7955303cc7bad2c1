#include "sim/config/yaml/read_files.hpp"

#include <cassert>

#include "sim/config/scenario_document.hpp"

namespace gradwire::config {
namespace {

ReadFiles* present = nullptr;

}  // namespace

ReadFiles::ReadFiles() {
  assert(present == nullptr);
  present = this;
}

ReadFiles::~ReadFiles() {
  present = nullptr;
}

void ReadFiles::note(const std::string& file, const std::string& text) {
  if (present != nullptr) present->digests_[file] = sha256(text);
}

}  // namespace gradwire::config
