#pragma once

#include <optional>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/node_graph.hpp"

namespace gradwire::config {

/// The keys of a node file that lists no devices: its machine is like another.
[[nodiscard]] std::vector<KeyInfo> likeness_keys();

/// The machine that `like` names, with the `gpu` and the `nic` that stand beside it in the place of
/// its own, and its number of ports stated; nullopt without `like`. The caller calls finish().
/// @throws ConfigError at the place in the file; also where that machine is itself like another,
/// and for a GPU with other NVLinks.
[[nodiscard]] std::optional<NodeGraph> read_likeness(YamlMap& map);

}  // namespace gradwire::config
