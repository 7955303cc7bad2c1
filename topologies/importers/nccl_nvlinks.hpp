#pragma once

#include <map>

#include "topologies/importers/nccl_places.hpp"
#include "topologies/importers/node_parts.hpp"

namespace gradwire {

struct NcclNvlinks {
  NvlinkLanes lanes;
  std::map<std::size_t, int> to_processor;  ///< GPU -> lanes to its own processor (POWER9)
};

/// The lanes that a file counts. A GPU's links to itself or to a GPU that is not in the file are
/// left out and reported; a hidden NVSwitch is one all the same.
/// @throws ConfigError for another target, and where two GPUs count the lanes between them
///         differently.
[[nodiscard]] NcclNvlinks find_nvlinks(const NcclDevices& devices, Told& told);

}  // namespace gradwire
