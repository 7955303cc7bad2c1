#pragma once

#include <string>

#include "sim/core/budgets.hpp"
#include "sim/core/plain_text.hpp"

namespace gradwire {

/// "; did you mean 'x'?" for the file of the same ending beside `path` whose name is nearest, where
/// `path` ends in .yml or in nothing for that with .yaml, or "".
[[nodiscard]] std::string file_suggestion(const std::string& path);

/// @throws ConfigError: the file cannot be read, at its first place, with the nearest name.
/// @param what  it should be: "a JSON result file".
[[noreturn]] void fail_unreadable(const std::string& path, const std::string& what);

/// Whether it is a shell's <(...), which can be read once.
[[nodiscard]] bool is_pipe(const std::string& path);

/// Refuses what is neither a regular file nor a pipe: /dev/zero never ends.
/// @throws ConfigError  by what it is, or as fail_unreadable.
void require_file(const std::string& path, const std::string& what);

/// All of a file's bytes. @throws ConfigError as require_file, or beyond the budget.
[[nodiscard]] std::string read_bytes(const std::string& path, const std::string& what,
                                     const Budget& budget);

/// Refuses what is no UTF-8, or holds a control character that is not allowed.
/// @param line, column  of the text's beginning in the file.
/// @throws ConfigError at its place.
void require_plain(const std::string& text, const std::string& file, Controls allowed, int line = 1,
                   int column = 1);

/// All of a text file, as read_bytes, checked as require_plain.
[[nodiscard]] std::string read_text_file(const std::string& path, const std::string& what,
                                         const Budget& budget = table_bytes,
                                         Controls allowed = Controls::white_space);

}  // namespace gradwire
