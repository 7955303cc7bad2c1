#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradwire {

/// Which control characters a text may hold.
enum class Controls : unsigned char {
  none,         ///< a name
  white_space,  ///< tab and line ends: a file that people write
  terminal      ///< all but NUL: what a program printed, colours and all
};

/// The first byte that is no part of well-formed UTF-8 (RFC 3629), or that begins a control
/// character (U+0000 to U+001F, U+007F to U+009F) which `allowed` does not name;
/// std::string_view::npos where there is none.
[[nodiscard]] std::size_t first_bad_byte(std::string_view text, Controls allowed = Controls::none);

/// What stands at a bad byte, for messages: "the byte 0xE9, which is no UTF-8", "the control
/// character U+001B".
[[nodiscard]] std::string describe_bad_byte(std::string_view text, std::size_t at);

/// A message that fits on a screen: a quoted value longer than 200 bytes keeps its beginning and
/// end, and so does the whole beyond 4000.
[[nodiscard]] std::string shortened(std::string_view message);

/// Whether a name may become a file's or folder's: letters, digits, '.', '_', '-' and others that
/// are no separator, at most 200 bytes, not "." or "..", and no blank or '-' in front.
[[nodiscard]] bool is_file_name(std::string_view name);

}  // namespace gradwire
