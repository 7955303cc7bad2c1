#include "topologies/importers/pci_ids.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>

namespace gradwire {

std::string gpu_of_pci_device(const std::string& device) {
  // The PCI ID database (pci-ids.ucw.cz), vendor 10de; 232x to 233x and 26xx also in
  // NVIDIA/gpu-admin-tools, gpu/devid_names.py.
  static const std::map<std::string, std::string> models = {
      {"0x102d", "k80"},
      {"0x15f8", "p100-pcie-16gb"},
      {"0x15f9", "p100-sxm2-16gb"},
      {"0x1b02", "titanxp"},
      {"0x1b06", "gtx1080ti"},
      {"0x1db1", "v100-sxm2-16gb"},
      {"0x1db4", "v100-pcie-16gb"},
      {"0x1db5", "v100-sxm2-32gb"},
      {"0x1db6", "v100-pcie-32gb"},
      {"0x1db8", "v100-sxm3-32gb"},
      {"0x1d81", "titan-v"},
      {"0x1eb8", "t4"},
      {"0x1e02", "titan-rtx"},
      {"0x1e04", "rtx2080ti"},
      {"0x1e07", "rtx2080ti"},
      {"0x2204", "rtx3090"},
      {"0x2230", "a6000"},
      {"0x2235", "a40"},
      {"0x2236", "a10"},
      {"0x2237", "a10g"},
      {"0x20b0", "a100-sxm4-40gb"},
      {"0x20b2", "a100-sxm4-80gb"},
      {"0x20b5", "a100-pcie-80gb"},
      {"0x20b7", "a30"},
      {"0x20f1", "a100-pcie-40gb"},
      {"0x20f3", "a800-sxm4-80gb"},
      {"0x2684", "rtx4090"},
      {"0x26b1", "rtx6000-ada"},
      {"0x26b5", "l40"},
      {"0x26b9", "l40s"},
      {"0x26ba", "l20"},
      {"0x27b8", "l4"},
      {"0x2321", "h100-nvl-94gb"},
      {"0x2324", "h800"},
      {"0x2329", "h20"},
      {"0x2330", "h100-sxm5-80gb"},
      {"0x2331", "h100-pcie-80gb"},
      {"0x2335", "h200-sxm5-141gb"},
      {"0x2342", "gh200-96gb"},
      {"0x2901", "b200"},
  };
  const auto found = models.find(device);
  return found == models.end() ? "" : found->second;
}

std::string pci_bus_id(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  // The last digit of the domain stays, whatever it is.
  const std::size_t digit = colon == 0 ? 0 : std::min(text.find_first_not_of('0'), colon - 1);
  std::string id;
  for (const char letter : text.substr(digit)) {
    id += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return id;
}

}  // namespace gradwire
