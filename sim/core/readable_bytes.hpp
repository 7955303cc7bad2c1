#pragma once

#include <string>

namespace gradwire {

/// "1.50 GB": decimal units, three digits.
[[nodiscard]] std::string readable_bytes(double bytes);

}  // namespace gradwire
