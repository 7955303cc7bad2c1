#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/fabric.hpp"

namespace gradwire::config {

/// A fabric: how the machines' network ports are joined.
struct FabricEntry {
  std::string name;
  std::string summary;  ///< one line
  std::vector<KeyInfo> parameters;
  /// Reads the knobs of the `fabric:` mapping; the caller has read `kind`, `link`,
  /// `links_per_node` and `gpudirect` and calls finish().
  Fabric (*read)(YamlMap& map, std::span<const PortGroup> ports);
};

/// Every fabric a scenario may name. To add one, add one line to topology_catalogue.cpp.
[[nodiscard]] const std::vector<FabricEntry>& fabric_catalogue();

}  // namespace gradwire::config
