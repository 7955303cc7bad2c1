#pragma once

#include <memory>
#include <vector>

#include "sim/config/yaml_value.hpp"
#include "sim/core/gpu.hpp"
#include "strategies/compression/measured_costs.hpp"

namespace gradwire::config {

/// Reads a file of compressors' times (schema gradwire.compressor_costs/1): a list of tables, each
/// with the compressor's name in a scenario, its device (gpu with the nominal memory_bandwidth it
/// was measured at, or cpu), its source, and either `rows` of elements with times or
/// `encode_n_log2_n`.
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::vector<CompressorTable> read_compressor_costs(const YamlValue& document);

/// Every shipped table, for this GPU.
[[nodiscard]] std::shared_ptr<const EncodeCosts> shipped_encode_costs(const GpuSpec& gpu);

}  // namespace gradwire::config
