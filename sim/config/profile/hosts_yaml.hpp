#pragma once

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/models/frameworks.hpp"

namespace gradwire::config {

/// A file of hosts' times (schema gradwire.hosts/1). @throws ConfigError at the place in the file.
[[nodiscard]] HostTables read_hosts(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section hosts_section();

/// Those of profiles/tables/hosts.yaml.
[[nodiscard]] const HostTables& shipped_hosts();

}  // namespace gradwire::config
