#pragma once

#include <memory>
#include <vector>

#include "sim/config/yaml/key_info.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/gpu.hpp"
#include "strategies/compression/measured_costs.hpp"

namespace gradwire::config {

/// Reads a file of compressors' times (schema gradwire.compressor_costs/1): a list of tables, each
/// with the compressor's name in a scenario, its device (gpu with the nominal memory_bandwidth it
/// was measured at, or cpu), its source, and either `rows` of elements with times or
/// `encode_n_log2_n`.
/// @throws ConfigError at the place in the file.
[[nodiscard]] std::vector<CompressorTable> read_compressor_costs(const YamlValue& document);

/// The keys of such a file.
[[nodiscard]] Section compressor_costs_section();

/// Reads `compressor_costs` of a scenario: the tables of the file that it names, by a shipped name
/// or a path ending in .yaml, or of a list of files; none without the key.
/// @throws ConfigError at the value, or at the place in that file.
[[nodiscard]] std::vector<CompressorTable> read_compressor_costs_key(YamlMap& scenario);

/// The tables that ship.
[[nodiscard]] std::vector<CompressorTable> shipped_compressor_costs();

/// The scenario's own tables, and for what they lack every shipped one, for this GPU. Those are
/// read when it is first asked, which then may throw as read_compressor_costs().
[[nodiscard]] std::shared_ptr<const EncodeCosts> encode_costs(
    const GpuSpec& gpu, const std::vector<CompressorTable>& own);

}  // namespace gradwire::config
