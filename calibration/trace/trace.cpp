#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

NameId NameTable::id(std::string_view name) {
  const auto known = ids_.find(name);
  if (known != ids_.end()) return known->second;
  const auto added = ids_.emplace(name, static_cast<NameId>(texts_.size())).first;
  texts_.push_back(&added->first);
  return added->second;
}

}  // namespace gradwire::calibration
