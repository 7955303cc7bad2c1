#pragma once

#include <string>
#include <vector>

namespace gradwire::config {

/// A knob of a catalogue entry, for `gradwire list` and for telling one entry's keys from
/// another's.
struct ParameterInfo {
  std::string name;
  std::string fallback;  ///< default, with its unit; "required" when there is none
  std::string source;    ///< where the default comes from, or what the knob is
};

/// Names in catalogue order.
template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& catalogue) {
  std::vector<std::string> names;
  names.reserve(catalogue.size());
  for (const auto& entry : catalogue) names.push_back(entry.name);
  return names;
}

}  // namespace gradwire::config
