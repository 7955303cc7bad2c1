#include "sim/core/block_names.hpp"

#include <algorithm>
#include <cstddef>

namespace gradwire {
namespace {

bool is_counted(std::string_view part, BlockNumbers numbers) {
  constexpr std::string_view digits = "0123456789";
  if (part.empty()) return false;
  if (numbers == BlockNumbers::part_ends) {
    return digits.find(part.back()) != std::string_view::npos;
  }
  // torchvision's vision transformers number a module's name: "encoder_layer_3".
  constexpr std::string_view layer = "layer_";
  if (const std::size_t at = part.find(layer); at != std::string_view::npos) {
    part.remove_prefix(at + layer.size());
  }
  return !part.empty() && part.find_first_not_of(digits) == std::string_view::npos;
}

}  // namespace

std::string_view block_of(std::string_view name, BlockNumbers numbers) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    if (is_counted(name.substr(begin, end - begin), numbers)) return name.substr(0, end);
    begin = end + 1;
  }
  return {};
}

}  // namespace gradwire
