#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gradwire {

/// A bucket, group or partition that a strategy forms, for reading.
struct PlanRow {
  int tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;  ///< that its collective or message moves
  std::string first;       ///< name of its first tensor, "" where it has none
  std::string last;
  std::string note;        ///< "server 3", "part 2 of 5"
  double ready_first = 0;  ///< seconds since the start of backward: its first gradient is ready
  double ready_last = 0;   ///< all of them are
};

/// Messages of a strategy's own that belong together.
struct PlanExchange {
  std::string name;
  std::size_t phases = 0;
  std::size_t messages = 0;
  double volume = 0;  ///< bytes that all of them move, in multiples of the size sent by it
  int connections = 1;
};

/// What a strategy plans for one iteration.
struct PlanReport {
  std::string title;
  std::vector<PlanRow> rows;
  std::vector<PlanExchange> exchanges;
};

/// The groups in launch order, and their sum by the place that their notes begin with ("server 3").
[[nodiscard]] std::string plan_table(const PlanReport& report);

/// The exchanges, "" where there is none.
[[nodiscard]] std::string exchange_table(const PlanReport& report);

/// Each group from its first to its last gradient's time, stacked by its bytes: a step that reaches
/// far to the right waits long for its last gradient.
[[nodiscard]] std::string plan_svg(const PlanReport& report);

}  // namespace gradwire
