#include "calibration/trace/trace.hpp"

#include "sim/core/outgoing_text.hpp"
#include "sim/core/plain_text.hpp"

namespace gradwire::calibration {

NameId NameTable::id(std::string_view name) {
  const auto known = ids_.find(name);
  if (known != ids_.end()) return known->second;
  if (first_bad_byte(name) != std::string_view::npos) return id(plain_line(name));
  const auto added = ids_.emplace(name, static_cast<NameId>(texts_.size())).first;
  texts_.push_back(&added->first);
  return added->second;
}

}  // namespace gradwire::calibration
