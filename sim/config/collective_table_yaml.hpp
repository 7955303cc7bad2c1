#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/config/yaml_value.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire::config {

/// Reads measurements of collectives (schema gradwire.collective_table/1) and checks them: every
/// entry says where it is from, sizes rise, and no two entries are of the same collective on the
/// same ranks and nodes.
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::vector<MeasuredSeries> read_collective_series(const YamlValue& document);

/// The library of a table's file; `fallback` plans, and prices what it does not cover.
[[nodiscard]] std::shared_ptr<const CollectiveLibrary> read_collective_table(
    const std::string& file, std::shared_ptr<const CollectiveLibrary> fallback);

}  // namespace gradwire::config
