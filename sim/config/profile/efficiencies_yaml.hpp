#pragma once

#include <map>
#include <string>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/gpu.hpp"

namespace gradwire::config {

/// Reads the efficiencies of a GPU generation (schema gradwire.efficiencies/1), by type. A type
/// either tabulates classes of work, or is `like` a type of another generation, with factors on the
/// shares of the peak (`flops`), on the shares of the memory bandwidth of classes that do no
/// arithmetic (`memory`), and with classes of its own.
/// Every type names its source.
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::map<std::string, EfficiencyTable> read_efficiencies(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section efficiencies_section();

}  // namespace gradwire::config
