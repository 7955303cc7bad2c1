#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "sim/report/point.hpp"

namespace gradwire {

/// What users of language models count, as columns of a table: tokens a second on a GPU, share of
/// its peak (MFU), and the memory that a GPU needs; there where some row is of text.
class WorkColumns {
 public:
  /// A row of the table. @param result  gradwire.result/1.
  void add(const nlohmann::ordered_json& result);

  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string line(const nlohmann::ordered_json& result) const;

 private:
  bool shown_ = false;
};

/// What a GPU of `point` does of what one does of the fewest GPUs among those of the same model,
/// batch, strategy and framework, where one GPU alone cannot hold the job.
struct EfficiencyOverFewest {
  int world_size = 0;  ///< those fewest
  double efficiency = 0;
};
/// @return nothing where one GPU could.
[[nodiscard]] std::optional<EfficiencyOverFewest> efficiency_over_fewest(
    const Point& point, std::span<const Point> points);

}  // namespace gradwire
