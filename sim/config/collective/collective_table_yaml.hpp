#pragma once

#include <memory>
#include <span>
#include <string>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire::config {

/// Reads measurements of collectives and what was fitted to them (schema
/// gradwire.collective_table/1) and checks them: every entry says where it is from, sizes rise, no
/// two entries are of the same collective on the same ranks and nodes, and no two fits of the same
/// collective and hops.
/// @throws ConfigError at the place in the file.
[[nodiscard]] CollectiveTable read_collective_table(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section collective_table_section();

/// The YAML text that read_collective_table turns back into the same table, times to 10
/// digits, rates to 7. @param comments  become comments at its head.
[[nodiscard]] std::string write_collective_table(const CollectiveTable& table,
                                                 std::span<const std::string> comments = {});

/// The key `table` of a library.
[[nodiscard]] KeyInfo table_key();

/// The library of the table that `table` names, `fallback` where there is no such key; `fallback`
/// plans, and prices what the table does not cover.
/// @param library  what the table must be of; @param cluster  whose links the patterns use.
/// @throws ConfigError when it is of another.
[[nodiscard]] std::shared_ptr<const CollectiveLibrary> with_table(
    YamlMap& map, const std::string& library, std::shared_ptr<const Cluster> cluster,
    std::shared_ptr<const CollectiveLibrary> fallback);

}  // namespace gradwire::config
