#pragma once

#include <span>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/fabric.hpp"

namespace gradwire::config {

/// The knobs of each fabric of the catalogue, which says what they mean. They throw ConfigError at
/// the knob that does not fit, and leave finish() to the caller.
[[nodiscard]] Fabric read_fat_tree(YamlMap& map, std::span<const PortGroup> ports);
[[nodiscard]] Fabric read_rail(YamlMap& map, std::span<const PortGroup> ports);
[[nodiscard]] Fabric read_dragonfly(YamlMap& map, std::span<const PortGroup> ports);
[[nodiscard]] Fabric read_torus(YamlMap& map, std::span<const PortGroup> ports);

/// Their knobs, and the two that with_routing reads.
[[nodiscard]] std::vector<KeyInfo> fat_tree_keys();
[[nodiscard]] std::vector<KeyInfo> rail_keys();
[[nodiscard]] std::vector<KeyInfo> dragonfly_keys();
[[nodiscard]] std::vector<KeyInfo> torus_keys();
[[nodiscard]] std::vector<KeyInfo> routing_keys();

/// Reads `routing` and `ecmp_seed` and gives the fabric that follows them: with `spread` the one
/// whose equal-cost paths are merged.
/// @throws ConfigError where equal-cost paths cannot be merged, so that `spread` would not be even.
[[nodiscard]] Fabric with_routing(YamlMap& map, Fabric fabric);

}  // namespace gradwire::config
