#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gradwire::fuzz {

/// A way that a file of somebody else's comes into the program, from its bytes to what a command
/// makes of it: an import's result is written and read again, as the command does.
struct Reader {
  std::string_view name;  ///< of its corpus and, with ".dict", of its dictionary
  /// @throws ConfigError where the file is refused; anything else is a finding.
  void (*read)(const std::string& bytes);
};

/// Every reader there is. A new one is a line in readers.cpp, a folder in corpus/ and a dictionary.
[[nodiscard]] std::span<const Reader> readers();

/// @throws std::out_of_range where there is none of that name.
[[nodiscard]] const Reader& reader_of(std::string_view name);

/// Whether the reader takes the bytes. @throws whatever it throws that is no ConfigError: a
/// finding.
bool accepts(const Reader& reader, const std::string& bytes);

}  // namespace gradwire::fuzz
