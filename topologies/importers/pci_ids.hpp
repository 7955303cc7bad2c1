#pragma once

#include <string>
#include <string_view>

namespace gradwire {

/// The model of a PCI device of NVIDIA (vendor 0x10de), "" when it is not known here.
/// @param device  of the PCI configuration space, as NCCL writes it: "0x20b0".
[[nodiscard]] std::string gpu_of_pci_device(const std::string& device);

/// A PCI bus id in one form: lower case, the domain without leading zeros ("0:3b:00.0").
[[nodiscard]] std::string pci_bus_id(std::string_view text);

}  // namespace gradwire
