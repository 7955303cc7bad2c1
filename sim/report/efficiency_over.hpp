#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "sim/report/point.hpp"
#include "sim/report/result_row.hpp"

namespace gradwire {

/// What a GPU of `point` does of what one does of the fewest GPUs that hold the job, among points
/// of the same model, batch, strategy and framework, where one GPU alone cannot hold it.
struct EfficiencyOverFewest {
  int world_size = 0;  ///< those fewest
  double efficiency = 0;
};
/// @return nothing where one GPU could, or no point holds the job.
[[nodiscard]] std::optional<EfficiencyOverFewest> efficiency_over_fewest(
    const Point& point, std::span<const Point> points);

/// Adds it as `efficiency_over` to a point's gradwire.result/1, where there is one.
void add_efficiency_over(nlohmann::ordered_json& result, const Point& point,
                         std::span<const Point> points);

/// The same rows of a sweep with it, over those that also agree in all that was varied beside the
/// number of machines and of their GPUs. Reads all rows once.
[[nodiscard]] ResultRows with_efficiency_over(const ResultRows& rows);

}  // namespace gradwire
