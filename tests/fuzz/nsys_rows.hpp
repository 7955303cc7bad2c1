#pragma once

#include <string>
#include <string_view>

namespace gradwire::fuzz {

/// The bytes of a database of Nsight Systems with these rows, as read_nsys_rows() describes them.
/// Lines of no table are left out. @throws std::runtime_error where SQLite fails.
[[nodiscard]] std::string nsys_database(std::string_view rows);

}  // namespace gradwire::fuzz
