#pragma once

#include <string>

#include "sim/report/result_row.hpp"

namespace gradwire {

/// Comma-separated values (RFC 4180), one line a row in their order: the axes, then every figure of
/// the result under its dotted name (times in seconds), then the error. Left out are the scenario,
/// lists, and what differs from one machine to another (the engine's own time).
/// REQUIRES: all rows have the same axes.
[[nodiscard]] std::string csv(const ResultRows& rows);

}  // namespace gradwire
