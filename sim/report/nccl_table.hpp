#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/result.hpp"

namespace gradwire {

/// An uncontended collective on one cluster.
struct CollectiveReport {
  struct Row {
    std::int64_t bytes = 0;
    double seconds = 0;
    double bound_seconds = 0;  ///< no schedule of this pattern's bytes on these links is faster
    std::string algorithm;
    std::string protocol;
    std::string source;  ///< table | fit | model
  };
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 0;
  std::vector<Row> rows;
  std::string label{};    ///< of its curve in a picture; "": the operation
  std::string devices{};  ///< lines that say where the ranks are (placement_text), may be ""
  std::vector<Warning> warnings{};
};

/// Bytes per second per rank that the operation reports: size / time.
[[nodiscard]] double algorithm_bandwidth(const CollectiveReport::Row& row);
/// algorithm_bandwidth times bus_factor, which compares with the hardware's bandwidth whatever the
/// number of ranks.
[[nodiscard]] double bus_bandwidth(const CollectiveReport& report,
                                   const CollectiveReport::Row& row);

/// The table of nccl-tests (one column group), then algorithm, protocol, source and the bound.
[[nodiscard]] std::string nccl_table(const CollectiveReport& report);

/// gradwire.collective/1.
[[nodiscard]] nlohmann::ordered_json collective_json(const CollectiveReport& report);
/// The same for one report; for any other number gradwire.collectives/1, a list of them.
[[nodiscard]] nlohmann::ordered_json collectives_json(std::span<const CollectiveReport> reports);

}  // namespace gradwire
