#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/key_info.hpp"

namespace gradwire::config {

/// Names in catalogue order.
template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& catalogue) {
  std::vector<std::string> names;
  names.reserve(catalogue.size());
  for (const auto& entry : catalogue) names.push_back(entry.name);
  return names;
}

}  // namespace gradwire::config
