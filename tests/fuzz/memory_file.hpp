#pragma once

#include <string>

namespace gradwire::fuzz {

/// A file without a disk, for readers that want a name: the same one in all calls.
/// @return the name of a file that holds these bytes, until the next call.
/// @throws std::runtime_error where the system has none.
[[nodiscard]] std::string memory_file(const std::string& bytes);

/// The same on a disk, for SQLite, which opens no other.
[[nodiscard]] std::string disk_file(const std::string& bytes);

}  // namespace gradwire::fuzz
