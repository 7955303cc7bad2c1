#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

NameId NameTable::id(std::string_view name) {
  const auto [at, is_new] = ids_.try_emplace(std::string(name), static_cast<NameId>(texts_.size()));
  if (is_new) texts_.push_back(&at->first);
  return at->second;
}

}  // namespace gradwire::calibration
