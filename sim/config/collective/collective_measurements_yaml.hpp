#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/placement.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire::config {

/// How a measurement takes part in a validation.
enum class MeasurementRole : std::uint8_t {
  calibrate,  ///< constants were fitted to it
  score,      ///< predicted without having been looked at by a fit
  show,       ///< predicted like a scored one, but under no gate
};
[[nodiscard]] std::string name_of(MeasurementRole role);
/// REQUIRES: `name` is the name of a role.
[[nodiscard]] MeasurementRole measurement_role(const std::string& name);

/// A published table of one collective, on a cluster that is described as in a scenario.
struct MeasuredCollective {
  std::string id;
  std::string family;  ///< tables of one machine and library
  std::string source;
  std::string hardware;
  std::string version;  ///< of the library, "" when it has none
  std::string library_name;
  std::string note;
  std::string missing;  ///< the mechanism that is thought to be missing, "" when none is named
  std::map<std::string, MeasurementRole> parts;  ///< "a" to "e" -> role; empty for choices
  /// Sizes of part "a" that a constant of the library's model was fitted to: first, last.
  std::vector<std::pair<Bytes, Bytes>> fitted;
  MeasuredSeries series;
  std::vector<double> spreads;  ///< of repeats, relative, one a row; 0 where there are none
  std::shared_ptr<const Cluster> cluster;
  Placement placement;
  std::shared_ptr<const CollectiveLibrary> library;
};

struct CollectiveMeasurements {
  std::vector<MeasuredCollective> tables;
  /// What a library printed itself: every row names algorithm and protocol, its time is that of the
  /// library's own model.
  std::vector<MeasuredCollective> choices;
};

/// Reads `schema: gradwire.collective_measurements/1`: tables and choices, each with id, source,
/// hardware, op, ranks, rows, and `cluster`, `placement`, `collective` as in a scenario.
/// @throws ConfigError at the place in the file.
[[nodiscard]] CollectiveMeasurements read_collective_measurements(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section measurements_section();

}  // namespace gradwire::config
