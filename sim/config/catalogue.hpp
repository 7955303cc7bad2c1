#pragma once

#include <string>
#include <type_traits>
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

/// What an entry may be given: a list that it has, or that it makes when asked for.
template <class Entry>
decltype(auto) parameters_of(const Entry& entry) {
  if constexpr (std::is_invocable_v<decltype(entry.parameters)>) {
    return entry.parameters();
  } else {
    return (entry.parameters);
  }
}

}  // namespace gradwire::config
