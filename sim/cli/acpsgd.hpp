#pragma once

#include <string>

#include "sim/config/scenario.hpp"
#include "sim/report/point.hpp"

namespace gradwire::cli {

/// What ACP-SGD's benchmarks print of a scenario: of strategy acp_sgd first what it allocates
/// (acpsgd_memory_lines), then acpsgd_lines.
[[nodiscard]] std::string acpsgd_text(const config::Scenario& scenario, const Point& point);

/// What its comm_time.py prints of the scenario's model, library and ranks, whatever the strategy:
/// all-reduces of gradients, of factors P and of factors Q, each by itself and as one buffer.
/// Factors have rank 32 of BERT and 4 of others.
[[nodiscard]] std::string comm_time_text(const config::Scenario& scenario);

}  // namespace gradwire::cli
