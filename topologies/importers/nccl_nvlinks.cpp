#include "topologies/importers/nccl_nvlinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "sim/core/error.hpp"

namespace gradwire {
namespace {

// PCI classes at the end of an NVLink, as NCCL writes them.
constexpr std::string_view nvswitch_class = "0x068000";
constexpr std::string_view processor_class = "0x068001";
constexpr std::string_view gpu_class = "0x03";

void add_lanes(const NcclDevices& devices, std::size_t gpu, const NcclNvlink& link,
               NcclNvlinks& found, Told& told) {
  const std::string& own = devices.gpus[gpu].pci->bus;
  const auto target =
      std::find_if(devices.gpus.begin(), devices.gpus.end(),
                   [&](const NcclPlace& other) { return other.pci->bus == link.target; });
  if (link.target == own) {
    told.add(own, "its NVLinks are written to end where they begin, and are left out");
  } else if (target != devices.gpus.end()) {
    const auto peer = static_cast<std::size_t>(target - devices.gpus.begin());
    found.lanes.direct[gpu][peer] += link.count;
  } else if (link.target_class.starts_with(processor_class)) {
    found.to_processor[gpu] += link.count;
  } else if (link.target_class.starts_with(nvswitch_class)) {
    if (link.target.starts_with("ffff")) {  // what NCCL writes for an unknown one
      told.add(own, "the NVSwitch at the end of its NVLinks is hidden: all end at the same one");
    }
    found.lanes.into_switch[gpu] += link.count;
  } else if (link.target_class.starts_with(gpu_class)) {
    told.add(own, fmt::format("its NVLinks to {}, a GPU that the file does not have, are left out",
                              link.target));
  } else {
    throw ConfigError(link.where,
                      fmt::format("NVLink to '{}' of class '{}'; expected a GPU of the file, an "
                                  "NVSwitch ({}) or a processor ({})",
                                  link.target, link.target_class, nvswitch_class, processor_class));
  }
}

void check_symmetry(const NcclDevices& devices, const NvlinkLanes& lanes) {
  for (std::size_t a = 0; a < devices.gpus.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (lanes.direct[a][b] == lanes.direct[b][a]) continue;
      throw ConfigError(
          devices.gpus[a].pci->where,
          fmt::format("{} counts {} NVLinks to {}, which counts {} back; expected the same both "
                      "ways",
                      devices.gpus[a].pci->bus, lanes.direct[a][b], devices.gpus[b].pci->bus,
                      lanes.direct[b][a]));
    }
  }
}

}  // namespace

NcclNvlinks find_nvlinks(const NcclDevices& devices, Told& told) {
  NcclNvlinks found{NvlinkLanes(devices.gpus.size()), {}};
  for (std::size_t gpu = 0; gpu < devices.gpus.size(); ++gpu) {
    const auto& element = devices.gpus[gpu].pci->gpu;
    if (!element) continue;
    for (const NcclNvlink& link : element->nvlinks) add_lanes(devices, gpu, link, found, told);
  }
  check_symmetry(devices, found.lanes);
  return found;
}

}  // namespace gradwire
