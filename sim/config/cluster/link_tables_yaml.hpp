#pragma once

#include "sim/config/yaml/yaml_value.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {

/// A file of links by name (schema gradwire.links/1). @throws ConfigError at the place in the file.
[[nodiscard]] LinkTables read_link_tables(const YamlValue& document);

/// Those of profiles/tables/links.yaml.
[[nodiscard]] const LinkTables& shipped_links();

}  // namespace gradwire::config
