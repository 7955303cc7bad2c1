#pragma once

#include <string>

#include "sim/config/yaml/fields.hpp"
#include "sim/core/fabric.hpp"

namespace gradwire::config {

/// Of a link, a message at its end or a trunk, of an empty collective and of a small kernel: nobody
/// trains farther or slower, and the search for paths counts picoseconds.
constexpr Seconds latency_most{10};

/// A kind of network link: a name that `gradwire list topologies` shows, or a mapping of
/// link_fields(), with the payload of one direction. A port of kind tcp goes through host
/// memory. @param key  that holds it, for messages.
[[nodiscard]] PortSpec read_port(const YamlValue& value, const std::string& key);

/// The keys of a link that a scenario describes itself, and of a trunk.
[[nodiscard]] const Fields<PortSpec>& link_fields();
[[nodiscard]] const Fields<Link>& trunk_fields();

/// The trunk that `key` of a fabric describes, by a name or as {bandwidth, latency}, both of one
/// direction; what is left out is the port's.
[[nodiscard]] Link read_trunk(YamlMap& fabric, const std::string& key, const PortSpec& port);

/// Refuses keys that would leave open which direction a bandwidth is of, and those of a bandwidth
/// of both directions together. Call it before finish().
void refuse_two_way(const YamlMap& link);

}  // namespace gradwire::config
