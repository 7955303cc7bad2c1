#pragma once

namespace gradwire {

/// The speed at which NCCL plans a port's channels, GB/s: the largest of those that it tries that
/// its nominal rate holds; where it holds that twice (below 1.2 GB/s the steps are wide), as many
/// channels as fit, of that speed or a lower one (v2.28.9, src/graph/search.cc, ncclTopoCompute and
/// ncclTopoCompareGraphs); the rate itself below all.
/// @param rate  GB/s of a channel; @param over_payload  its links' nominal rates / what they carry
/// @param capability  compute capability x 10 of the GPUs; @param is_across  over several machines
[[nodiscard]] double nccl_planned_speed(double rate, double over_payload, int capability,
                                        bool is_across);

/// Channels in which NCCL lays so many rings or trees over several machines: twice as many, of half
/// the speed each, where they are fast and, among Hopper's or later GPUs, few (v2.28.9,
/// src/graph/search.cc, ncclTopoDupChannels).
/// @param speed  of a ring between machines, as planned, GB/s
[[nodiscard]] int nccl_laid_channels(int rings, double speed, int capability);

}  // namespace gradwire
