#include "sim/core/utf8.hpp"

namespace gradwire {
namespace {

/// How long a character is that begins with this byte; 0 where none does (Unicode 15, table 3-7).
std::size_t length_of(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const unsigned first = static_cast<unsigned char>(text.front());
  const Utf8Character none{first, 0};
  const std::size_t length = length_of(first);
  if (length == 0 || length > text.size()) return none;
  std::uint32_t code = length == 1 ? first : first & (0x7fU >> length);
  for (const char c : text.substr(1, length - 1)) {
    const unsigned next = static_cast<unsigned char>(c);
    if ((next & 0xc0U) != 0x80U) return none;
    code = code << 6U | (next & 0x3fU);
  }
  constexpr std::uint32_t least_of_three = 0x800;
  constexpr std::uint32_t least_of_four = 0x10000;
  const bool overlong =
      (length == 3 && code < least_of_three) || (length == 4 && code < least_of_four);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (overlong || surrogate || code > 0x10ffff) return none;
  return {code, length};
}

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

}  // namespace gradwire
