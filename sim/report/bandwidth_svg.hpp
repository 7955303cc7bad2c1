#pragma once

#include <span>
#include <string>

#include "sim/report/nccl_table.hpp"

namespace gradwire {

/// A picture of the bus bandwidth over the size (logarithmic): a curve a report, named by its label
/// or its operation; one alone has its points coloured by algorithm and protocol.
/// REQUIRES: sizes are > 0.
[[nodiscard]] std::string bandwidth_svg(std::span<const CollectiveReport> reports,
                                        const std::string& title);

}  // namespace gradwire
