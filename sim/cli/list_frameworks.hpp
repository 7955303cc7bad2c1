#pragma once

#include <nlohmann/json.hpp>

namespace gradwire::cli {

/// The frameworks whose host times analytic profiles may have, as `gradwire list` shows them.
[[nodiscard]] nlohmann::ordered_json frameworks_json();

}  // namespace gradwire::cli
