#pragma once

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "topologies/links.hpp"

namespace gradwire::config {

/// A file of links by name (schema gradwire.links/1). @throws ConfigError at the place in the file.
[[nodiscard]] LinkTables read_link_tables(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section links_section();

/// Those of profiles/tables/links.yaml.
[[nodiscard]] const LinkTables& shipped_links();

}  // namespace gradwire::config
