#pragma once

#include <memory>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/yaml/yaml_map.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/result.hpp"
#include "sim/cost/collective_library.hpp"

namespace gradwire::config {

/// The knobs of the library `nccl`.
[[nodiscard]] std::vector<KeyInfo> nccl_keys();

/// Reads those knobs: NCCL's cost model, or a measured table where there is one.
/// @throws ConfigError at the knob.
[[nodiscard]] std::shared_ptr<const CollectiveLibrary> read_nccl(
    YamlMap& map, const std::shared_ptr<const Cluster>& cluster, std::vector<Warning>& warnings);

}  // namespace gradwire::config
