#include "topologies/importers/pci_ids.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace gradwire {

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
