#pragma once

namespace gradwire {

/// The speed at which NCCL plans a port's channels, GB/s: the largest of those that it tries that
/// its nominal rate holds; where it holds that twice (below 1.2 GB/s the steps are wide), as many
/// channels as fit, of that speed or a lower one (v2.28.9, src/graph/search.cc, ncclTopoCompute and
/// ncclTopoCompareGraphs); the rate itself below all.
/// @param rate  GB/s of a channel; @param nominal  the same by its links' nominal rates
/// @param capability  compute capability x 10 of the GPUs; @param is_across  over several machines
[[nodiscard]] double nccl_planned_speed(double rate, double nominal, int capability,
                                        bool is_across);

}  // namespace gradwire
