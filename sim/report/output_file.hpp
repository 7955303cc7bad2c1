#pragma once

#include <string>
#include <string_view>

namespace gradwire {

/// Writes a whole file at once: a temporary beside the target, then a rename, so that a reader
/// never sees half a file. Devices and pipes (/dev/stdout) are written in place.
/// @throws std::runtime_error naming the file and the reason; nothing is left behind then.
void write_file(const std::string& path, std::string_view content);

}  // namespace gradwire
