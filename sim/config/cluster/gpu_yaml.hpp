#pragma once

#include <optional>
#include <string>

#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/gpu.hpp"

namespace gradwire::config {

/// The keys of a GPU file, and those of a scenario's `gpu`, which stand in place of the file's.
[[nodiscard]] Section gpu_file_section();
[[nodiscard]] const Fields<GpuSpec>& gpu_override_fields();

/// Reads a GPU description (schema gradwire.gpu/1), with the efficiencies that it names. What it
/// says of its links is held against what the topologies use for that model.
/// @throws ConfigError at the place in the file.
[[nodiscard]] GpuSpec read_gpu(const YamlValue& document);

/// The GPU that profiles/gpus/NAME.yaml describes. @param where  names it, for the error.
/// @throws ConfigError with the nearest name when there is no such file.
[[nodiscard]] GpuSpec shipped_gpu(const std::string& name, const SourceLocation& where);

/// "v100-sxm2" of "v100-sxm2-32gb": boards that differ in memory only compute alike.
[[nodiscard]] std::string board_of(const std::string& gpu);

/// The described GPU of that name, else the first of that board; nothing when there is none.
[[nodiscard]] std::optional<GpuSpec> described_gpu(const std::string& model);

/// `clock` and `power_limit`, of GPUs.
[[nodiscard]] std::vector<KeyInfo> clock_keys();

/// The clock that one of those keys of a mapping gives GPUs of this model; 0 where there is none.
/// @throws ConfigError at it when both are given, or nobody states what it is held against (the
/// clock of that GPU's peaks, its power), or it is above that.
[[nodiscard]] Hertz read_clock(YamlMap& map, const std::string& model);

/// Our name of the GPU that a driver names so (nvidia-smi, cudaGetDeviceProperties): of "NVIDIA
/// H200" "h200-sxm5-141gb". A GPU that is not described keeps the driver's name.
[[nodiscard]] std::string gpu_of_device(const std::string& device);

}  // namespace gradwire::config
