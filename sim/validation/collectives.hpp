#pragma once

#include <memory>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// results/reference/collectives.yaml: each table predicted from its cluster alone, what NCCL
/// printed itself, and fits to a part of the rows. Page: collectives.md.
[[nodiscard]] std::unique_ptr<Series> open_collectives();

/// results/reference/collectives_blind.yaml: tables that were written down before they were
/// predicted, under no gate (collectives_blind.md, written by hand).
[[nodiscard]] std::unique_ptr<Series> open_blind_collectives();

}  // namespace gradwire::validation
