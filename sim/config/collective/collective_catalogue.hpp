#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/result.hpp"
#include "sim/cost/collective_library.hpp"

namespace gradwire::config {

/// A collective library: how its collectives are priced.
struct CollectiveEntry {
  std::string name;
  std::string summary;                   ///< one line
  std::vector<KeyInfo> (*parameters)();  ///< Gloo's defaults are read from its file
  /// Reads the knobs of the `collective:` mapping; the caller has read `library` and calls
  /// finish().
  std::shared_ptr<const CollectiveLibrary> (*read)(YamlMap& map,
                                                   const std::shared_ptr<const Cluster>& cluster,
                                                   std::vector<Warning>& warnings);
};

/// Every library a scenario may name. To add one, add one line to collective_catalogue.cpp.
[[nodiscard]] const std::vector<CollectiveEntry>& collective_catalogue();

/// The keys of `collective`.
[[nodiscard]] Section collective_section();

/// Reads `collective:`; absent, it is nccl with its defaults.
[[nodiscard]] std::shared_ptr<const CollectiveLibrary> read_collective(
    YamlMap& scenario, const std::shared_ptr<const Cluster>& cluster,
    std::vector<Warning>& warnings);

/// The library of that name as `collective: {library: NAME}` gives it.
/// @throws ConfigError when there is none of that name.
[[nodiscard]] std::shared_ptr<const CollectiveLibrary> default_library(
    const std::string& name, const std::shared_ptr<const Cluster>& cluster);

}  // namespace gradwire::config
