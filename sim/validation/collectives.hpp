#pragma once

#include <memory>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// results/reference/collectives.yaml: each table predicted from its cluster alone, what NCCL
/// printed itself, and fits to a part of the rows. Page: collectives.md.
[[nodiscard]] std::unique_ptr<Series> open_collectives();

}  // namespace gradwire::validation
