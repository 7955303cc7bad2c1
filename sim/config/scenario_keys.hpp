#pragma once

#include "sim/config/yaml/key_info.hpp"

namespace gradwire::config {

/// The keys of a scenario beside `schema`.
[[nodiscard]] Section scenario_section();

}  // namespace gradwire::config
