#pragma once

#include <string_view>

namespace gradwire {

/// The project's version, as CMake states it.
constexpr std::string_view gradwire_version = GRADWIRE_VERSION;

}  // namespace gradwire
