#pragma once

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// The list of points that `points: {world_sizes: auto | [2, 8, ...]}` stands for, as PyTorch's DDP
/// benchmark sweeps (benchmarks/distributed/ddp/benchmark.py, sweep): first one GPU without a
/// wrapper ("no ddp", by the strategy's name), then machines in order: "1M/2G" is one machine with
/// two GPUs. `auto` takes 1, 2, 4 ... GPUs of one machine, then all of 1, 2, 3 ... machines.
///
/// @param scenario  without `points`, right by itself; its machines are alike.
/// @param points  the mapping with `world_sizes`.
/// @throws ConfigError for a size that these machines cannot make.
[[nodiscard]] YamlValue points_of_world_sizes(const YamlValue& scenario, const YamlValue& points);

}  // namespace gradwire::config
