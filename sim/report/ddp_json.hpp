#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "sim/report/point.hpp"

namespace gradwire {

/// More measurements than this in one row are replaced by this many evenly spaced quantiles of
/// them, smallest first, so that a file of a large world stays small and keeps its percentiles.
constexpr std::int64_t ddp_measurements_max = 20'000;

/// The PyTorch DDP benchmark's own JSON, which its diff.py reads. Every rank's every iteration
/// stands in `measurements`, unless there are more than ddp_measurements_max. The diff ignores the
/// first row of a model ("no ddp"); when the first point is another one, a row with the profile's
/// own single-GPU iteration is put before it. `bucket_size` is strategy.bucket_cap in MiB.
[[nodiscard]] nlohmann::ordered_json ddp_json(std::span<const Point> points);

}  // namespace gradwire
