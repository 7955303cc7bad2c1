#pragma once

#include <string>
#include <string_view>

namespace gradwire {

/// A PCI bus id in one form: lower case, the domain without leading zeros ("0:3b:00.0").
[[nodiscard]] std::string pci_bus_id(std::string_view text);

}  // namespace gradwire
