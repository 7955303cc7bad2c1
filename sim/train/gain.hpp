#pragma once

#include <optional>

#include "sim/core/result.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// A warning "beats-one-gpu" of a result whose mean iteration takes less than that of one GPU
/// alone, with the reason as far as its parts tell it; nothing where the efficiency is shown as
/// 100.0 % or less.
/// @param optimizer  of one GPU alone, an iteration.
[[nodiscard]] std::optional<Warning> gain_warning(const RunResult& result, Seconds optimizer);

}  // namespace gradwire
