#pragma once

#include <span>
#include <vector>

#include "sim/report/point.hpp"

namespace gradwire {

/// Splits points where the model or the batch size changes: each run is one benchmark of the
/// PyTorch suite.
[[nodiscard]] inline std::vector<std::span<const Point>> benchmark_groups(
    std::span<const Point> points) {
  std::vector<std::span<const Point>> groups;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= points.size(); ++end) {
    if (end < points.size() && points[end].model == points[begin].model &&
        points[end].result.batch_per_gpu == points[begin].result.batch_per_gpu) {
      continue;
    }
    groups.push_back(points.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

/// The row that the benchmark measures first: one GPU, no wrapper.
[[nodiscard]] inline bool is_no_ddp(const Point& point) {
  return point.strategy == "none" && point.result.world_size == 1;
}

}  // namespace gradwire
