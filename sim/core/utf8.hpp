#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gradwire {

/// A character of a text in UTF-8.
struct Utf8Character {
  std::uint32_t code = 0;  ///< the code point; the byte itself where `bytes` is 0
  std::size_t bytes = 0;   ///< 1 to 4; 0 where no well-formed character begins
};

/// The character that `text` begins with (RFC 3629, section 4: neither overlong forms nor
/// surrogates). REQUIRES: `text` is not empty.
[[nodiscard]] Utf8Character first_character(std::string_view text);

/// Whether a code point is a control character: U+0000 to U+001F, U+007F to U+009F.
[[nodiscard]] bool is_control(std::uint32_t code);

}  // namespace gradwire
