#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/yaml/yaml_value.hpp"
#include "sim/validation/report.hpp"

namespace gradwire::validation {

/// A gate that is known to be missed.
struct ExpectedMiss {
  std::string series;
  std::string gate;  ///< its name
  std::string why;
};

/// A list of them (schema gradwire.expected_misses/1). @throws ConfigError at the place in the
/// file.
[[nodiscard]] std::vector<ExpectedMiss> read_expected_misses(const config::YamlValue& document);

/// Those of results/reference/expected_misses.yaml.
[[nodiscard]] const std::vector<ExpectedMiss>& expected_misses();

/// What `--strict` finds in the reports, a sentence each: gates that are missed and not expected to
/// be, gates that are met though a miss is expected, and expected misses of these series that no
/// gate has.
[[nodiscard]] std::vector<std::string> unexpected(std::span<const SeriesReport> reports,
                                                  std::span<const ExpectedMiss> expected);

}  // namespace gradwire::validation
