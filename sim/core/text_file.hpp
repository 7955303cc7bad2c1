#pragma once

#include <string>

namespace gradwire {

/// "; did you mean 'x'?" for the file of the same ending beside `path` whose name is nearest, or
/// "".
[[nodiscard]] std::string file_suggestion(const std::string& path);

/// @throws ConfigError: the file cannot be read, at its first place, with the nearest name.
/// @param what  it should be: "a JSON result file".
[[noreturn]] void fail_unreadable(const std::string& path, const std::string& what);

/// All of a file's bytes. @throws as fail_unreadable.
[[nodiscard]] std::string read_text_file(const std::string& path, const std::string& what);

}  // namespace gradwire
