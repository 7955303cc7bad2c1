#pragma once

#include <cstddef>
#include <string>

namespace gradwire::calibration {

/// All of a file, decompressed where it is gzip's.
/// @param what     was expected in it, for the message.
/// @param padding  bytes of memory that must follow the text.
/// @throws ConfigError when it cannot be read, is damaged, or exceeds
/// one of the budgets trace_bytes, unzipped_bytes, unzipped_ratio.
[[nodiscard]] std::string read_compressed(const std::string& file, const std::string& what,
                                          std::size_t padding = 0);

}  // namespace gradwire::calibration
