#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "sim/report/point.hpp"

namespace gradwire {

/// The recorded spans for chrome://tracing and Perfetto: a process per worker class (and point), a
/// thread per resource; a process of a thread per tensor where the original has such a timeline
/// (Horovod's); times in microseconds since the first span of the point. Each event's args
/// tell its bytes, its tensors and what it waited for.
[[nodiscard]] nlohmann::ordered_json chrome_trace(std::span<const Point> points);

}  // namespace gradwire
