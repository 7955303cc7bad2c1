#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "sim/core/outgoing_text.hpp"

namespace gradwire::cli {

/// Opens a standard stream that whoever started us has closed, so that no file of ours takes its
/// number; as /dev/null the wrong way round, so that its use still fails.
void hold_standard_descriptors() noexcept;

/// Writes text to standard error as it is. Where nothing can be written there, nothing happens:
/// what the program says beside its results decides neither its exit code nor its life.
void write_raw(std::string_view text) noexcept;

/// The same for text that may hold names: nothing in it controls a terminal.
void write_message(std::string_view text) noexcept;

/// Formats a message and writes it; a text among the arguments stays on its line.
template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    write_message(plain_format(format, std::forward<Args>(args)...));
  } catch (...) {
    write_raw("gradwire: out of memory for a message\n");
  }
}

/// Prints a result on standard output; nothing in it controls a terminal.
/// @throws std::system_error where it cannot be written
void print_text(std::string_view text);

/// Writes out what was printed, which may not fit on a disk.
/// @throws std::system_error where that fails
void finish_output();

}  // namespace gradwire::cli
